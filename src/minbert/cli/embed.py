"""minbert embed: one vector a text."""

from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.console import errors
from minbert.cli.file_progress import watch_file
from minbert.cli.options import Force, Precision
from minbert.errors import UserError


def embed(
    model: Annotated[str, typer.Argument(help="A run, a backbone's name (`minbert models`), or a model folder.")],
    input_: Annotated[Path, typer.Argument(metavar="INPUT", help="A text file, one text a line.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT.npy", help="A NumPy file, float32, one row a text.")],
    pooling: Annotated[str, typer.Option(help="How the token vectors become one: mean, max, cls or pooler.")] = "mean",
    normalize: Annotated[bool, typer.Option("--normalise", help="Scale each vector to length 1.")] = False,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens a text; what is longer is cut.")] = 128,
    precision: Precision = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the same call, which was interrupted, to the same result.")
    ] = False,
    force: Force = False,
) -> None:
    """Turn each line of a text file into a vector. The file may be of any length.

    Example: minbert embed minilm sentences.txt vectors.npy --normalise
    """
    if output.suffix != ".npy":
        raise UserError(f"{output}: vectors are written as a NumPy file.", "Let its name end in .npy.")
    from minbert.inference.embed_file import FileEmbedding
    from minbert.inference.embedder import Embedder, load_encoder
    from minbert.inference.job import check_output

    check_output(input_, output)
    bert, text = load_encoder(model, precision)
    embedder = Embedder(bert, text, pooling, normalize=normalize, max_length=max_length)
    job = FileEmbedding(embedder, input_, output, resume=resume, force=force)
    done = watch_file(job)
    errors.print(f"{done.written:,} vectors of {bert.config.hidden_size} numbers in {output}", markup=False)
