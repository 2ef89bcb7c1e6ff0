"""minbert embed: a text file -> one vector per text."""

from minbert.cli.console import stderr
from minbert.cli.file_progress import watch_file
from minbert.cli.options import (
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
    pooling: PoolingOption = "mean",
    normalize: NormalizeOption = False,
    max_length: MaxLengthOption = 128,
    precision: PrecisionOption = "auto",
    resume: ResumeFileOption = False,
    force: ForceOption = False,
) -> None:
    """Turn each line of a text file of any length into a vector.

    Example: minbert embed minilm sentences.txt vectors.npy --normalize
    """
    if output.suffix != ".npy":
        raise UserError(f"{output}: vectors are written as a NumPy file.", "Use a name that ends in .npy.")
    from minbert.inference.embed_file import FileEmbedding
    from minbert.inference.embedder import Embedder, load_encoder
    from minbert.inference.resumable_job import check_output

    check_output(input_, output)
    bert, text = load_encoder(model, precision)
    embedder = Embedder(bert, text, pooling, normalize=normalize, max_length=max_length)
    job = FileEmbedding(embedder, input_, output, resume=resume, force=force)
    done = watch_file(job)
    stderr.print(f"{done.written:,} vectors of {bert.config.hidden_size} numbers in {output}", markup=False)
