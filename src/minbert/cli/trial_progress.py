"""Progress of the trials of a comparison, and what happens when it is interrupted."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import escape_markup, progress_bar, stderr

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from minbert.comparison.compare import ComparisonEvent
    from minbert.comparison.results import TrialResult


@contextmanager
def saved_when_stopped() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stopped:
        stderr.print("Stopped. Run the same command again to resume.")
        code = stopped.code if isinstance(stopped, SystemExit) else 130
        raise typer.Exit(code if isinstance(code, int) else 1) from None


def watch_trials(events: "Iterable[ComparisonEvent]") -> None:
    with progress_bar() as bar:
        view = TrialsView(bar)
        for event in events:
            view.show(event)


class TrialsView:
    """One bar for all trials, one for each running trial, and a line for each finished trial."""

    def __init__(self, bar: "Progress") -> None:
        self.bar = bar
        self.all_trials = bar.add_task("trials", total=None, note="")
        self.running: dict[str, TaskID] = {}
        # a log file gets an occasional line instead of a bar
        self.live = sys.stderr.isatty()

    def show(self, event: "ComparisonEvent") -> None:
        from minbert.comparison.compare import Calibrating, ControlsMeasured, TrialsPlanned
        from minbert.comparison.results import TrialResult

        if isinstance(event, Calibrating):
            self.sizing(f"fitting recipes to the budget: {event.done} of {event.total}")
        elif isinstance(event, TrialsPlanned):
            self.bar.update(self.all_trials, total=event.trials, note="")
        elif isinstance(event, TrialResult):
            self.finished(event)
        elif isinstance(event, ControlsMeasured):
            self.remove(event.key)
        else:
            if event.trial.key not in self.running:
                name = escape_markup(event.trial.title)
                self.running[event.trial.key] = self.bar.add_task(name, total=event.total, note="")
            self.bar.update(self.running[event.trial.key], completed=event.done, total=event.total)

    def sizing(self, note: str) -> None:
        self.bar.update(self.all_trials, note=note)
        if not self.live:
            self.bar.console.print(f"  {note}")

    def finished(self, result: "TrialResult") -> None:
        self.remove(result.key)
        self.bar.advance(self.all_trials)
        self.bar.console.print(f"  {trial_line(result)}", soft_wrap=True)

    def remove(self, key: str) -> None:
        if key in self.running:
            self.bar.remove_task(self.running.pop(key))


def trial_line(result: "TrialResult") -> str:
    start = f"{escape_markup(result.label)}, seed {result.seed}: "
    if result.state != "finished" or result.overall is None:
        return f"{start}[red]{result.state}[/]: {escape_markup(result.reason)}"
    scores = "  ".join(f"{name} {next(iter(metrics.values())):.3f}" for name, metrics in result.scores.items())
    return f"{start}{scores}  overall [bold]{result.overall:.3f}[/]"
