"""minbert embed: one vector a text."""

from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.options import Force, Precision
from minbert.cli.predict import check_output
from minbert.cli.screen import errors, progress
from minbert.errors import UserError


def embed(
    model: Annotated[str, typer.Argument(help="A run, a backbone's name (`minbert models`), or a model folder.")],
    input_: Annotated[Path, typer.Argument(metavar="INPUT", help="A text file, one text a line.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT.npy", help="A NumPy file, float32, one row a text.")],
    pooling: Annotated[str, typer.Option(help="How the token vectors become one: mean, max, cls or pooler.")] = "mean",
    normalise: Annotated[bool, typer.Option("--normalise", help="Scale each vector to length 1.")] = False,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens a text; what is longer is cut.")] = 128,
    precision: Precision = "auto",
    force: Force = False,
) -> None:
    """Turn each line of a text file into a vector.

    Example: minbert embed minilm sentences.txt vectors.npy --normalise
    """
    check_output(input_, output, force)
    if output.suffix != ".npy":
        raise UserError(f"{output}: vectors are written as a NumPy file.", "Let its name end in .npy.")
    try:
        # not splitlines, which also splits at form feeds and other characters inside a line
        texts = input_.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise UserError(f"{input_}: no such file.") from None
    except UnicodeDecodeError as wrong:
        raise UserError(f"{input_}: not UTF-8 text: {wrong}") from None
    if texts == [""]:
        raise UserError(f"{input_}: the file is empty.", "It needs one text a line.")
    import numpy as np

    from minbert.predict import fill_vectors, load_encoder

    bert, text = load_encoder(model, precision)
    vectors = np.empty((len(texts), bert.shape.width), np.float32)
    batches = fill_vectors(bert, text, texts, vectors, pooling, normalise=normalise, max_length=max_length)
    with progress() as bar:
        embedding = bar.add_task("embedding", total=len(texts), note="")
        for done in batches:
            bar.advance(embedding, done)
    output.parent.mkdir(parents=True, exist_ok=True)
    np.save(output, vectors)
    errors.print(f"{vectors.shape[0]:,} vectors of {vectors.shape[1]} numbers in {output}", markup=False)
