"""Progress of the trials of a comparison, and what happens when it is interrupted."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import escape_markup, progress_bar, stderr

if TYPE_CHECKING:
    from rich.progress import Progress

    from minbert.comparison.compare import ComparisonEvent, TrialsPlanned
    from minbert.comparison.results import TrialResult


@contextmanager
def saved_when_stopped() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stopped:
        stderr.print("Stopped. Run the same command again to resume.")
        code = stopped.code if isinstance(stopped, SystemExit) else 130
        raise typer.Exit(code if isinstance(code, int) else 1) from None


def watch_trials(events: "Iterable[ComparisonEvent]", at_once: int) -> None:
    """`at_once`: how many trials run at the same time."""
    with progress_bar() as bar:
        view = TrialsView(bar, at_once)
        for event in events:
            view.show(event)


class TrialsView:
    """A bar for all trials with a line for each that is running, and a line for each finished trial."""

    def __init__(self, bar: "Progress", at_once: int) -> None:
        from minbert.comparison.remaining_trials import TrialsClock

        self.bar = bar
        self.clock = TrialsClock(at_once)
        self.bar_task = bar.add_task("trials", total=None, note="", ends=None)
        self.names: dict[str, str] = {}
        # by key: name, steps done and all steps
        self.running: dict[str, str] = {}
        # a log file gets an occasional line instead of a bar
        self.live = sys.stderr.isatty()

    def show(self, event: "ComparisonEvent") -> None:
        from minbert.comparison.compare import Calibrating, ControlsMeasured, TrialsPlanned
        from minbert.comparison.results import TrialResult

        if isinstance(event, Calibrating):
            self.sizing(f"fitting recipes to the budget: {event.done} of {event.total}")
            return
        if isinstance(event, TrialsPlanned):
            self.planned(event)
        elif isinstance(event, TrialResult):
            self.finished(event)
        elif isinstance(event, ControlsMeasured):
            self.remove(event.key)
            self.clock.stopped(event.key)
        else:
            self.clock.progress(event)
            state = f"step {event.done:,} of {event.total:,}" if event.total else "loading"
            self.running[event.trial.key] = f"{event.trial.title(self.name(event.trial.label))}: {state}"
        remaining = self.clock.remaining()
        ends = None if remaining is None else time.monotonic() + remaining
        self.bar.update(self.bar_task, note="\n".join(self.running.values()), ends=ends)

    def sizing(self, note: str) -> None:
        self.bar.update(self.bar_task, note=note)
        if not self.live:
            self.bar.console.print(f"  {note}")

    def planned(self, event: "TrialsPlanned") -> None:
        from minbert.comparison.labels import short_labels

        self.names = short_labels(each.label for each in event.trials if each.label)
        self.clock.plan(event.trials)
        self.bar.update(self.bar_task, total=len(event.trials))

    def name(self, label: str) -> str:
        return self.names.get(label, label)

    def finished(self, result: "TrialResult") -> None:
        started = self.remove(result.key)
        self.clock.finished(result)
        self.bar.advance(self.bar_task)
        self.bar.console.print(f"  {trial_line(result, self.name(result.label))}")
        remaining = self.clock.remaining()
        if not self.live and started and remaining:
            self.bar.console.print(f"  about {remaining:,.0f} s remaining")

    def remove(self, key: str) -> bool:
        """Whether it was running."""
        return self.running.pop(key, None) is not None


def trial_line(result: "TrialResult", name: str) -> str:
    start = f"{escape_markup(name)}, seed {result.seed}: "
    if result.state != "finished" or result.overall is None:
        return f"{start}[red]{result.state}[/]: {escape_markup(result.reason)}"
    scores = "  ".join(f"{name} {next(iter(metrics.values())):.3f}" for name, metrics in result.scores.items())
    return f"{start}{scores}  overall [bold]{result.overall:.3f}[/]"
