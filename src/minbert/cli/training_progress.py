"""A training on the screen: a bar with estimate, speed, losses and scores, and a line an epoch."""

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from minbert.cli.console import progress
from minbert.cli.interrupts import Stopping

if TYPE_CHECKING:
    from rich.progress import Progress

    from minbert.runs.events import Evaluated, Event, Finished, Measuring, Started
    from minbert.training.loop import Step


# what the bar takes without its note: name, bar, steps and times
BAR_WIDTH = 66


def watch(events: "Iterable[Event]", stopping: Stopping | None = None) -> "Finished":
    """Show a training as it goes; returns how it ended. While it trains, signals make it save and stop."""
    from minbert.runs.events import Evaluated, Finished, Measuring, Started
    from minbert.training.loop import Step

    with progress() as bar, ExitStack() as listening:
        view = View(bar)
        shows: dict[type, Callable[[Any], None]] = {
            Started: view.started,
            Step: view.step,
            Measuring: view.measuring,
            Evaluated: view.evaluated,
        }
        for event in events:
            if isinstance(event, Finished):
                return event
            if isinstance(event, Started) and stopping is not None:
                listening.enter_context(stopping.listening())
            shows[type(event)](event)
            view.last = time.perf_counter()
    raise AssertionError("a training ends with Finished")


class View:
    def __init__(self, bar: "Progress") -> None:
        self.bar = bar
        self.training_bar = bar.add_task("reading", total=None, note="")
        self.measuring_bar = bar.add_task("measuring", total=None, note="", visible=False)
        # a log file gets a line now and then instead of a bar
        self.live = sys.stderr.isatty()
        self.losses: dict[str, float] = {}
        self.scores: dict[str, float] = {}
        self.tokens = 0
        # steps of an interrupted run that this one goes on with
        self.done_before = 0
        self.work = 0.0
        self.rate = 0.0
        self.seconds = 0.0
        self.last = time.perf_counter()

    def started(self, event: "Started") -> None:
        self.bar.update(self.training_bar, description="training", total=event.steps, completed=event.done)
        self.done_before = event.done
        for name, (train_rows, dev_rows) in event.rows.items():
            left_out = f", {event.skipped[name]} left out" if event.skipped[name] else ""
            self.bar.console.print(f"  {name}: {train_rows:,} rows to learn, {dev_rows:,} to measure{left_out}")
        for note in event.notes:
            self.bar.console.print(f"  {note}", markup=False)
        self.rate = event.rate
        count = sum(event.parameters.values())
        self.bar.console.print(f"  {count / 1e6:.1f}M parameters, {event.steps:,} steps")

    def step(self, event: "Step") -> None:
        self.tokens += event.tokens
        self.work += event.flops
        self.seconds += time.perf_counter() - self.last
        for name, loss in event.losses.items():
            # a running mean: single batches jump too much to be read
            self.losses[name] = loss if name not in self.losses else 0.95 * self.losses[name] + 0.05 * loss
        each = "  ".join(f"{name} {loss:.3f}{self.score(name)}" for name, loss in self.losses.items())
        # a busy moment when the rate was measured must not make a training faster than its machine
        self.rate = max(self.rate, self.work / self.seconds)
        share = self.work / self.seconds / self.rate
        speed = f"{self.tokens / self.seconds:,.0f} tokens/s, {share:.0%} of the machine"
        # cut here what does not fit: the table would take it from the bar and the times
        note = f"{speed}  loss {each}"[: max(0, self.bar.console.width - BAR_WIDTH)]
        self.bar.update(self.training_bar, completed=event.number, note=note)
        if not self.live and event.number % max(1, event.total // 20) == 0:
            left = self.seconds / (event.number - self.done_before) * (event.total - event.number)
            note = f"{speed}, about {left:,.0f} s left, loss {each}"
            self.bar.console.print(f"  step {event.number:,}/{event.total:,}: {note}")

    def score(self, name: str) -> str:
        """The last dev score of a task, behind its loss."""
        return f" ({self.scores[name]:.3f})" if name in self.scores else ""

    def measuring(self, event: "Measuring") -> None:
        going = event.done < event.total
        self.bar.update(self.measuring_bar, completed=event.done, total=event.total, visible=going)

    def evaluated(self, event: "Evaluated") -> None:
        self.scores = {name: next(iter(found.values())) for name, found in event.scores.items()}
        each = "  ".join(f"{name} {score:.3f}" for name, score in self.scores.items())
        mark = "  [green]best so far[/]" if event.best else ""
        self.bar.console.print(f"  step {event.step:,}: dev {each}  overall [bold]{event.overall:.3f}[/]{mark}")
