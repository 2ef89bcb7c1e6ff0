"""The trainings of a comparison on the screen, and what stops them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import errors, plain, progress

if TYPE_CHECKING:
    from rich.progress import TaskID

    from minbert.comparison.compare import ComparisonEvent
    from minbert.comparison.results import TrialResult


@contextmanager
def saved_when_stopped() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stopped:
        errors.print("Stopped. The same command goes on from what was saved.")
        code = stopped.code if isinstance(stopped, SystemExit) else 130
        raise typer.Exit(code if isinstance(code, int) else 1) from None


def watch_trials(events: "Iterable[ComparisonEvent]") -> None:
    """A bar for all cells, one for each that is going, and a line for each that ended."""
    from minbert.comparison.compare import Calibrating, TrialsPlanned
    from minbert.comparison.results import TrialResult

    # a log file gets a line now and then instead of a bar
    live = sys.stderr.isatty()
    with progress() as bar:
        everything = bar.add_task("trials", total=None, note="")
        going: dict[str, TaskID] = {}
        for told in events:
            if isinstance(told, Calibrating):
                note = f"timing the steps of the recipes, {told.done} of {told.total}"
                bar.update(everything, note=note)
                if not live:
                    bar.console.print(f"  {note}")
            elif isinstance(told, TrialsPlanned):
                bar.update(everything, total=told.trials, note="")
            elif isinstance(told, TrialResult):
                if told.key in going:
                    bar.remove_task(going.pop(told.key))
                bar.advance(everything)
                bar.console.print(f"  {line_of(told)}", soft_wrap=True)
            else:
                if told.trial.key not in going:
                    name = f"{plain(told.trial.label)}, seed {told.trial.recipe.seed}"
                    going[told.trial.key] = bar.add_task(name, total=told.total, note="")
                bar.update(going[told.trial.key], completed=told.done, total=told.total)


def line_of(result: "TrialResult") -> str:
    head = f"{plain(result.label)}, seed {result.seed}: "
    if result.state != "finished" or result.overall is None:
        return f"{head}[red]{result.state}[/]: {plain(result.reason)}"
    scores = "  ".join(f"{name} {next(iter(found.values())):.3f}" for name, found in result.scores.items())
    return f"{head}{scores}  overall [bold]{result.overall:.3f}[/]"
