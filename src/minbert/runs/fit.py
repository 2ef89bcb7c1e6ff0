"""The steps of a run, with an evaluation at the end of each epoch, the best model kept, and checkpoints between."""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.data.batch import Batch
from minbert.runs.checkpoint import Checkpoint, save_checkpoint
from minbert.training.gradient_conflict import Conflict, compare, gradient_of, in_batches
from minbert.durations import seconds
from minbert.errors import UserError
from minbert.inference.loop import fill_answers
from minbert.runs.events import Evaluated, Event, Scores, Stopped
from minbert.runs.metrics_log import Log
from minbert.runs.scoring import Measured
from minbert.data.metrics import direction, overall
from minbert.model.multitask import Model
from minbert.training.prepare import Part, Prepared
from minbert.runs.profile import Profile
from minbert.inference.saved_model import save_model
from minbert.config.task import Task
from minbert.training.loop import Loop

# the number of the signal that asks a training to stop, if one does
Asked = Callable[[], int | None]


@dataclass(frozen=True)
class SaveEvery:
    """When checkpoints are written: every so many steps, or seconds; how many are kept."""

    steps: int | None = None
    seconds: float | None = 600.0
    keep: int = 2

    def __post_init__(self) -> None:
        if self.keep < 1 or (self.steps is not None and self.steps < 1):
            raise ValueError("at least one step, and one checkpoint")

    @staticmethod
    def parse(text: str, keep: int = 2) -> "SaveEvery":
        """200: steps; 10m, 90s: minutes, seconds."""
        try:
            if text.strip().isdecimal():
                return SaveEvery(int(text), None, keep)
            return SaveEvery(None, seconds(text), keep)
        except ValueError:
            raise UserError(
                f"--save-every {text}: not a number of steps or a time.", "For example: 200, or 10m."
            ) from None

    def due(self, step: int, seconds: float) -> bool:
        return (self.steps is not None and step % self.steps == 0) or (
            self.seconds is not None and seconds >= self.seconds
        )


class Learner:
    def __init__(self, ready: Prepared, out: Path, every: SaveEvery, asked: Asked) -> None:
        self.ready = ready
        self.out = out
        self.every = every
        self.asked = asked
        self.loop = Loop(ready.model, ready.learning)
        self.best: float | None = None
        # evaluations in a row without a better one
        self.waited = 0
        # whether an epoch has ended that is not measured yet
        self.unmeasured = False
        self.before: Scores = {}
        self.saved_at = time.monotonic()
        rows = ready.recipe.selection.rows
        self.sample = {name: fixed_sample(part, rows) for name, part in ready.dev.items()}

    @cached_property
    def train_sample(self) -> dict[str, Part]:
        """As many training rows as dev rows are measured, for a sampler that compares the two."""
        return {name: fixed_sample(self.ready.train[name], len(part.examples)) for name, part in self.sample.items()}

    @cached_property
    def compared(self) -> dict[str, list[Batch]]:
        """A few training rows of each task, always the same, whose gradients are compared; nothing if not asked for."""
        rows, found = self.ready.recipe.selection.cosines, {}
        for name, part in self.ready.train.items() if rows else ():
            few = fixed_sample(part, rows)
            found[name] = in_batches(name, few.sequences, few.examples.labels, self.ready.recipe.tasks[name].batch_size)
        return found

    @property
    def patient(self) -> bool:
        return self.waited != self.ready.recipe.selection.patience

    def go(self, profile: bool = False) -> Generator[Event, None, bool]:
        """Train to the end. Returns whether it stopped before the last step, since nothing got better any more."""
        total = self.ready.learning.steps
        log = Log(self.out, self.loop.done, measured=not self.unmeasured)
        with closing(log), closing(Profile(self.out)) if profile else nullcontext() as watched:
            while True:
                if self.unmeasured:
                    yield from self.evaluate(log)
                if self.loop.done == total or not self.patient:
                    break
                step = self.loop.step()
                if watched is not None:
                    watched.step()
                log.step(step)
                self.unmeasured = step.ends_epoch
                yield step
                self.stop_if_asked()
                if self.every.due(step.number, time.monotonic() - self.saved_at):
                    self.save()
        return self.loop.done < total

    def evaluate(self, log: Log) -> Generator[Event, None, None]:
        """Measure, keep the model if it is the best so far, and tell a sampler that goes by scores."""
        ready, average = self.ready, self.ready.learning.average
        plan = ready.learning.plans[self.loop.stage]
        # of the weights that learn, not of their mean
        conflict = self.conflict() if self.compared else None
        with average.applied() if average is not None else nullcontext():
            scores = yield from self.measure(measured_by(ready.model, self.sample))
            train: Scores = {}
            if plan.sampler.wants_scores:
                train = yield from self.measure(measured_by(ready.model, self.train_sample))
            # from here on nothing can interrupt: either all of it has happened, or nothing
            better = self.judge(scores)
            if better:
                save_model(self.out / "model", ready.model, ready.text)
        if plan.sampler.wants_scores:
            plan.sampler.observe(main_metrics(ready.tasks, train), main_metrics(ready.tasks, scores))
        self.unmeasured = False
        evaluated = Evaluated(self.loop.done, scores, overall(scores, ready.tasks), better)
        if conflict is not None:
            log.compared(self.loop.done, conflict)
        log.evaluated(evaluated)
        yield evaluated

    def conflict(self) -> Conflict:
        """How far the tasks' gradients in the encoder agree."""
        gradients = {}
        for name, batches in self.compared.items():
            gradients[name] = gradient_of(self.ready.model, batches)
            self.stop_if_asked()
        return compare(gradients)

    def judge(self, scores: Scores) -> bool:
        """Whether these scores are the best so far."""
        selection = self.ready.recipe.selection
        value = mixed(selection.mix, scores) if selection.mix else overall(scores, self.ready.tasks)
        if not scores:
            # nothing to measure: the last model is the best
            value = float(self.loop.done)
        # the first is kept whatever it scores, even if that is no number
        better = bool(self.best is None or value > self.best)
        self.waited = 0 if better else self.waited + 1
        if better:
            self.best = -math.inf if math.isnan(value) else value
        return better

    def measure(self, measured: Measured) -> Generator[Event, None, Scores]:
        for event in measured:
            yield event
            self.stop_if_asked()
        return measured.scores

    def stop_if_asked(self) -> None:
        """Whoever catches it saves: only there are the weights surely the training's own, not their mean."""
        signal = self.asked()
        if signal is not None:
            raise Stopped(signal, self.loop.done)

    def save(self) -> None:
        save_checkpoint(self.out / "checkpoints", self.loop.done, self.ready.model, self.memory(), self.every.keep)
        self.saved_at = time.monotonic()

    def memory(self) -> dict[str, Any]:
        return {
            "loop": self.loop.state(),
            # as text: JSON knows no infinity
            "best": None if self.best is None else repr(float(self.best)),
            "waited": self.waited,
            "unmeasured": self.unmeasured,
            "before": self.before,
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        memory = checkpoint.memory
        self.ready.model.load_state_dict(checkpoint.weights)
        self.loop.restore(memory["loop"])
        self.best = None if memory["best"] is None else float(memory["best"])
        self.waited, self.unmeasured, self.before = memory["waited"], memory["unmeasured"], memory["before"]


def measured_by(model: Model, parts: Mapping[str, Part], predictions: Path | None = None) -> Measured:
    """A model on rows that are laid out for it, without the tasks that only train the encoder."""
    answering = {name: part for name, part in parts.items() if model.task(name).loss.answering}

    def fill(name: str, answers: npt.NDArray[Any]) -> Iterator[int]:
        return fill_answers(model, name, answering[name].sequences, answers)

    tasks = {name: model.task(name).task for name in answering}
    return Measured(tasks, {name: part.examples for name, part in answering.items()}, fill, predictions)


def fixed_sample(part: Part, rows: int | None) -> Part:
    """A fixed random part of the rows, for scoring while training."""
    if rows is None or rows >= len(part.examples):
        return part
    chosen = np.sort(np.random.default_rng(0).choice(len(part.examples), rows, replace=False))
    return Part(part.examples.take(chosen), part.sequences.take(chosen))


def main_metrics(tasks: Mapping[str, Task], scores: Scores) -> dict[str, float]:
    return {name: direction(tasks[name].metric) * found[tasks[name].metric] for name, found in scores.items()}


def mixed(mix: Mapping[str, float], scores: Mapping[str, Mapping[str, float]]) -> float:
    """The declared mix of metrics: the sum of weight x score, turned round where less is better."""
    total = 0.0
    for name, weight in mix.items():
        task, _, metric = name.partition(".")
        total += weight * direction(metric) * scores[task][metric]
    return total
