"""minbert soup: one model with the mean of the weights of several."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.console import console, plain
from minbert.cli.options import Force


def soup(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Runs of one recipe, with several seeds.")],
    out: Annotated[Path, typer.Option("--out", help="Where the model goes; answers like a run.")],
    force: Force = False,
) -> None:
    """Average the weights of several runs into one model, as cheap to ask as one of them.

    Example: minbert soup runs/seed-0 runs/seed-1 runs/seed-2 --out runs/soup
    """
    from minbert.runs.merge import make_soup

    make_soup(runs, out, force)
    where = plain(shlex.quote(str(out)))
    console.print(f"The mean of {len(runs)} models is in {where}. Measure it:  minbert evaluate {where}")
