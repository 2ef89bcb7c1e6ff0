"""minbert report: a page about a run's errors, or about a comparison."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.console import console, plain
from minbert.errors import UserError


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN|COMPARISON", help="A run, or what `minbert compare` made.")],
    other: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A second run: where do the two disagree?", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the pages go; RUN/report or the comparison if left out.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also write a comparison's plots as SVG files.")
    ] = None,
) -> None:
    """Look at the errors of a run, or see a comparison again: one HTML page, with Markdown and CSV beside it.

    Of a run: confusions, calibration, scores against gold, slices by length, overlap and label, the hardest examples,
    and which dev rows stand in the training data. With a second run: where one is right and the other wrong.

    Example: minbert report runs/baseline
    """
    if (folder / "compare.json").is_file():
        if other is not None:
            raise UserError("A comparison is shown alone.", "For two runs: minbert report RUN RUN")
        page = of_comparison(folder, out or folder, figures)
    elif (folder / "run.json").is_file():
        if figures is not None:
            raise UserError("--figures are those of a comparison.", "Leave it out for a run.")
        page = of_run(folder, other, out or folder / "report")
    else:
        raise UserError(
            f"{folder}: neither a run nor a comparison.", "`minbert train` and `minbert compare` make them."
        )
    console.print(f"The report: {plain(page)}", soft_wrap=True)


def of_comparison(folder: Path, out: Path, figures: Path | None) -> Path:
    from minbert.comparison.conclude import conclude
    from minbert.report import write_comparison, write_figures

    results = conclude(folder)
    # links to the runs are from where the page lies
    there = [
        replace(each, runs={seed: os.path.relpath(folder / run, out) for seed, run in each.runs.items()})
        for each in results.systems
    ]
    written = {} if figures is None else write_figures(results, figures)
    write_comparison(replace(results, systems=tuple(there)), out, written)
    return out / "report.html"


def of_run(folder: Path, other: Path | None, out: Path) -> Path:
    from minbert.analysis import analyze_run
    from minbert.report import write_run

    write_run(analyze_run(folder, other), out)
    return out / "report.html"
