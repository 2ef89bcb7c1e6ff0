"""minbert embed: a text file, or a column of a table -> one vector per text."""

from minbert.cli.console import stderr
from minbert.cli.file_progress import watch_file
from minbert.cli.options import (
    ColumnOption,
    ForceOption,
    MaxLengthOption,
    ModelArgument,
    NormalizeOption,
    PoolingOption,
    PrecisionOption,
    ResumeFileOption,
    TextFileArgument,
    VectorFileArgument,
)
from minbert.errors import UserError


def embed(
    model: ModelArgument,
    input_: TextFileArgument,
    output: VectorFileArgument,
    column: ColumnOption = None,
    pooling: PoolingOption = "mean",
    normalize: NormalizeOption = False,
    max_length: MaxLengthOption = 128,
    precision: PrecisionOption = "auto",
    resume: ResumeFileOption = False,
    force: ForceOption = False,
) -> None:
    """Turn each line of a text file, or each text in a column of a table, into a vector.

    Examples:
      minbert embed minilm sentences.txt vectors.npy --normalize
      minbert embed minilm reviews.csv vectors.npy --column review
    """
    if output.suffix != ".npy":
        raise UserError(f"{output}: vectors are written as a NumPy file.", "Use a name that ends in .npy.")
    from minbert.inference.embed_file import FileEmbedding, check_is_text
    from minbert.inference.embedder import Embedder, load_encoder
    from minbert.inference.resumable_job import check_output

    check_output(input_, output)
    if column is None:
        check_is_text(input_)
    bert, text = load_encoder(model, precision)
    embedder = Embedder(bert, text, pooling, normalize=normalize, max_length=max_length)
    job = FileEmbedding(embedder, input_, output, column=column, resume=resume, force=force)
    done = watch_file(job)
    stderr.print(f"{done.written:,} vectors of {bert.config.hidden_size} numbers in {output}", markup=False)
