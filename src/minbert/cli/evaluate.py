"""minbert evaluate: the scores of a run on labelled files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minbert.cli.console import console, progress, table
from minbert.cli.options import AsJson, DataRoot, Precision, RunFolder, SkipBadRows
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from minbert.runs.events import Scores
    from minbert.runs.scoring import Scoring


def evaluate(
    run: RunFolder,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="TASK=FILE", help="Measure this task on this file. May be repeated."),
    ] = None,
    data_root: DataRoot = None,
    precision: Precision = "auto",
    skip_bad_rows: SkipBadRows = False,
    as_json: AsJson = False,
) -> None:
    """Measure a run's model on its tasks' dev files, or on files you name.

    Example: minbert evaluate runs/baseline --data sst=more-reviews.csv --json
    """
    from minbert.data.dataset import read_dataset
    from minbert.data.metrics import overall
    from minbert.inference.predictor import load_predictor
    from minbert.runs.directory import dev_rows
    from minbert.runs.scoring import Scoring

    named = dict(split_option(option) for option in data or [])
    predictor = load_predictor(run, precision)
    for name in named:
        predictor.task(name)
    tasks = {name: task for name, task in predictor.tasks.items() if not named or name in named}
    rows = {
        name: read_dataset(Path(named[name]), task, skip_bad_rows=skip_bad_rows)
        if name in named
        else dev_rows(run, task, data_root, skip_bad_rows)
        for name, task in tasks.items()
    }

    def fill(name: str, answers: "npt.NDArray[Any]") -> "Iterator[float]":
        return predictor.fill(name, rows[name].texts, answers)

    scores = watch_measuring(Scoring(tasks, rows, fill))
    total = overall(scores, tasks)
    if as_json:
        typer.echo(json.dumps({"tasks": scores, "overall": total}, indent=2))
        return
    shown = table("task", "rows", "metric", "score", right=("rows", "score"))
    for name, metrics in scores.items():
        for i, (metric, value) in enumerate(metrics.items()):
            main = i == 0
            style = "bold" if main else "dim"
            count = f"{len(rows[name]):,}" if main else ""
            shown.add_row(name if main else "", count, f"[{style}]{metric}[/]", f"[{style}]{value:.4f}[/]")
    shown.add_row("overall", "", "", f"[bold]{total:.4f}[/]")
    console.print(shown)


def watch_measuring(measured: "Scoring") -> "Scores":
    with progress() as bar:
        measuring = bar.add_task("measuring", total=None, note="")
        for event in measured:
            bar.update(measuring, completed=event.done, total=event.total)
    return measured.scores


def split_option(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals or not name or not value:
        raise UserError(f"--data {option}: not of the form TASK=FILE.", "For example: --data sst=reviews.csv")
    return name, value
