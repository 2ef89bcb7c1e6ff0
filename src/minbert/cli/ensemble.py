"""minbert ensemble: several runs that answer as one."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.console import console, plain, table
from minbert.cli.options import Force


def ensemble(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Runs, of any recipes and backbones.")],
    out: Annotated[Path, typer.Option("--out", help="Where it goes; answers like a run.")],
    best: Annotated[bool, typer.Option("--best", help="Each task is answered by its best run alone.")] = False,
    force: Force = False,
) -> None:
    """Put several runs together that answer like one: the mean of the answers of those that have the task.

    Costs as much as all of them when it answers; `minbert train` with `distil` makes one model of them.

    Example: minbert ensemble runs/sst runs/quora runs/sts --out runs/all
    """
    from minbert.runs.merge import make_ensemble

    asked = make_ensemble(runs, out, best=best, force=force)
    shown = table("task", "answered by")
    for name, those in asked.items():
        shown.add_row(name, plain(", ".join(map(str, those))))
    console.print(shown)
    console.print(f"Measure it:  minbert evaluate {plain(shlex.quote(str(out)))}")
