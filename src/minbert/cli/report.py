"""minbert report: a page about the errors of a run, or about a comparison."""

import os
from dataclasses import replace
from pathlib import Path

from minbert.cli.console import console, escape_markup
from minbert.cli.options import FiguresOption, ReportedArgument, ReportOutOption, SecondRunArgument
from minbert.errors import UserError


def report(
    folder: ReportedArgument,
    other: SecondRunArgument = None,
    out: ReportOutOption = None,
    figures: FiguresOption = None,
) -> None:
    """Analyze the errors of a run, or write the report of a comparison again, as HTML, Markdown and CSV.

    For a run: confusion matrices, calibration, predicted against gold scores, slices by length, overlap and label, the
    hardest examples, and dev rows that occur in the training data. With a second run: where only one of them is right.

    Example: minbert report runs/baseline
    """
    if (folder / "compare.json").is_file():
        if other is not None:
            raise UserError("A comparison takes no second run.", "For two runs: minbert report RUN RUN2")
        page = write_comparison_report(folder, out or folder, figures)
    elif (folder / "run.json").is_file():
        if figures is not None:
            raise UserError("--figures works only with a comparison.", "Omit it for a run.")
        page = write_run_report(folder, other, out or folder / "report")
    else:
        raise UserError(
            f"{folder}: neither a run nor a comparison.", "Make one with `minbert train` or `minbert compare`."
        )
    console.print(f"Report: {escape_markup(page)}")


def write_comparison_report(folder: Path, out: Path, figures: Path | None) -> Path:
    from minbert.comparison.conclude import conclude
    from minbert.report import write_comparison, write_figures

    results = conclude(folder)
    # links to the runs are relative to the page
    systems = [
        replace(system, runs={seed: os.path.relpath(folder / run, out) for seed, run in system.runs.items()})
        for system in results.systems
    ]
    written = {} if figures is None else write_figures(results, figures)
    write_comparison(replace(results, systems=tuple(systems)), out, written)
    return out / "report.html"


def write_run_report(folder: Path, other: Path | None, out: Path) -> Path:
    from minbert.analysis import analyze_run
    from minbert.report import write_run

    write_run(analyze_run(folder, other), out)
    return out / "report.html"
