"""Progress of a training run: a bar with remaining time, speed, losses and scores, and one line per evaluation."""

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from minbert.cli.console import escape_markup, progress_bar
from minbert.cli.interrupts import StopSignal
from minbert.plural import plural

if TYPE_CHECKING:
    from rich.progress import Progress

    from minbert.runs.events import Evaluated, Event, Finished, Measuring, Started
    from minbert.runs.remaining_time import TrainingClock
    from minbert.training.loop import Step


def watch_training(events: "Iterable[Event]", stop_signal: StopSignal | None = None) -> "Finished":
    """Show a training run and return its end. While it trains, signals make it save and stop."""
    from minbert.runs.events import Finished, Started

    with progress_bar() as bar, ExitStack() as listening:
        view = TrainingView(bar)
        for event in events:
            if isinstance(event, Finished):
                return event
            if isinstance(event, Started) and stop_signal is not None:
                listening.enter_context(stop_signal.listening())
            view.show(event)
    raise AssertionError("a training run ends with Finished")


class TrainingView:
    def __init__(self, bar: "Progress") -> None:
        self.bar = bar
        self.training_bar = bar.add_task("reading", total=None, note="", ends=None)
        self.measuring_bar = bar.add_task("evaluating", total=None, note="", visible=False)
        # a log file gets an occasional line instead of a bar
        self.live = sys.stderr.isatty()
        self.losses: dict[str, float] = {}
        self.scores: dict[str, float] = {}
        self.tokens = 0
        self.seconds = 0.0
        self.clock: TrainingClock | None = None
        self.last = time.monotonic()

    def show(self, event: "Event") -> None:
        from minbert.runs.events import Evaluated, Measuring, Started
        from minbert.training.loop import Step

        now = time.monotonic()
        took, self.last = now - self.last, now
        shows: dict[type, Callable[[Any], None]] = {
            Started: self.started,
            Step: partial(self.step, took=took),
            Measuring: self.measuring,
            Evaluated: self.evaluated,
        }
        if self.clock is not None:
            self.clock.observe(event, took)
            remaining = self.clock.remaining()
            self.bar.update(self.training_bar, ends=None if remaining is None else now + remaining)
        shows[type(event)](event)

    def started(self, event: "Started") -> None:
        from minbert.data.rejects import describe_reasons
        from minbert.runs.remaining_time import TrainingClock

        self.clock = TrainingClock(event.work, event.done)
        self.bar.update(self.training_bar, description="training", total=event.steps, completed=event.done)
        for name, (train_rows, dev_rows) in event.rows.items():
            why = escape_markup(describe_reasons(event.skip_reasons.get(name, {})))
            skipped = f", {event.skipped[name]:,} skipped ({why})" if event.skipped[name] else ""
            rows = f"{plural(train_rows, 'training row')}, {plural(dev_rows, 'dev row')}"
            more = {"validation row": event.validation_rows, "test row": event.test_rows}
            rows += "".join(f", {plural(counts[name], kind)}" for kind, counts in more.items() if name in counts)
            self.bar.console.print(f"  {name}: {rows}{skipped}")
        for note in event.notes:
            self.bar.console.print(f"  {note}", markup=False)
        if event.settings:
            self.bar.console.print("  settings chosen for the data:")
        for line in event.settings:
            self.bar.console.print(f"    {line}", markup=False)
        for warning in event.warnings:
            self.bar.console.print("  [yellow]warning:[/] " + escape_markup(warning))
        count = sum(event.parameters.values())
        self.bar.console.print(f"  {count / 1e6:.1f}M parameters, {plural(event.steps, 'step')}")

    def step(self, event: "Step", took: float) -> None:
        self.tokens += event.tokens
        self.seconds += took
        for name, loss in event.losses.items():
            # a running mean: the losses of single batches vary too much to be read
            self.losses[name] = loss if name not in self.losses else 0.95 * self.losses[name] + 0.05 * loss
        losses = ", ".join(f"{name} {loss:.3f}{self.last_score(name)}" for name, loss in self.losses.items())
        speed = self.speed()
        self.bar.update(self.training_bar, completed=event.number, note=f"loss {losses}, {speed}")
        if not self.live and event.number % max(1, event.total // 20) == 0:
            note = f"loss {losses}, about {self.remaining():,.0f} s remaining, {speed}"
            self.bar.console.print(f"  step {event.number:,}/{event.total:,}: {note}", markup=False)

    def remaining(self) -> float:
        return (self.clock and self.clock.remaining()) or 0.0

    def speed(self) -> str:
        return f"{self.tokens / self.seconds:,.0f} tokens/s"

    def last_score(self, name: str) -> str:
        """The latest dev score of a task, shown after its loss."""
        return f" (dev {self.scores[name]:.3f})" if name in self.scores else ""

    def measuring(self, event: "Measuring") -> None:
        running = event.done < event.total
        self.bar.update(self.measuring_bar, completed=event.done, total=event.total, visible=running)

    def evaluated(self, event: "Evaluated") -> None:
        self.scores = {name: next(iter(metrics.values())) for name, metrics in event.scores.items()}
        scores = "  ".join(f"{name} {score:.3f}" for name, score in self.scores.items())
        best = "  [green]best so far[/]" if event.best else ""
        model = "untrained" if event.untrained else f"step {event.step:,}"
        self.bar.console.print(f"  {model}: dev {scores}  overall [bold]{event.overall:.3f}[/]{best}")
