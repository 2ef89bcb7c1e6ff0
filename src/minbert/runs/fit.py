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

from minbert.config.task import Task
from minbert.data.batch import Batch
from minbert.data.metrics import direction, overall
from minbert.durations import parse_duration
from minbert.errors import UserError
from minbert.inference.loop import fill_predictions
from minbert.inference.saved_model import save_model
from minbert.model.multitask import Model
from minbert.runs.checkpoint import Checkpoint, save_checkpoint
from minbert.runs.events import Evaluated, Event, Scores, Stopped
from minbert.runs.metrics_log import Log
from minbert.runs.profile import Profile
from minbert.runs.scoring import Scoring
from minbert.training.gradient_conflict import GradientCosines, gradient_cosines, gradient_of, in_batches
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared, Split

# the number of the signal that asks a training to stop, if one does
StopRequest = Callable[[], int | None]


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
            return SaveEvery(None, parse_duration(text), keep)
        except ValueError:
            raise UserError(
                f"--save-every {text}: not a number of steps or a time.", "For example: 200, or 10m."
            ) from None

    def due(self, step: int, seconds: float) -> bool:
        return (self.steps is not None and step % self.steps == 0) or (
            self.seconds is not None and seconds >= self.seconds
        )


class Fit:
    def __init__(self, ready: Prepared, out: Path, every: SaveEvery, stop_requested: StopRequest) -> None:
        self.ready = ready
        self.out = out
        self.every = every
        self.stop_requested = stop_requested
        self.loop = Loop(ready.model, ready.learning)
        self.best: float | None = None
        # evaluations in a row without a better one
        self.waited = 0
        # whether an epoch has ended that is not measured yet
        self.unmeasured = False
        self.before: Scores = {}
        self.saved_at = time.monotonic()
        rows = ready.recipe.selection.eval_rows
        self.sample = {name: fixed_sample(part, rows) for name, part in ready.dev.items()}

    @cached_property
    def train_sample(self) -> dict[str, Split]:
        """As many training rows as dev rows are measured, for a sampler that compares the two."""
        return {name: fixed_sample(self.ready.train[name], len(part.examples)) for name, part in self.sample.items()}

    @cached_property
    def compared(self) -> dict[str, list[Batch]]:
        """A few training rows of each task, always the same, whose gradients are compared; nothing if not asked for."""
        rows, found = self.ready.recipe.selection.gradient_cosine_rows, {}
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
                self.stop_if_requested()
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
            scores = yield from self.measure(scoring_of(ready.model, self.sample))
            train: Scores = {}
            if plan.sampler.wants_scores:
                train = yield from self.measure(scoring_of(ready.model, self.train_sample))
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

    def conflict(self) -> GradientCosines:
        """How far the tasks' gradients in the encoder agree."""
        gradients = {}
        for name, batches in self.compared.items():
            gradients[name] = gradient_of(self.ready.model, batches)
            self.stop_if_requested()
        return gradient_cosines(gradients)

    def judge(self, scores: Scores) -> bool:
        """Whether these scores are the best so far."""
        selection = self.ready.recipe.selection
        value = weighted_mix(selection.mix, scores) if selection.mix else overall(scores, self.ready.tasks)
        if not scores:
            # nothing to measure: the last model is the best
            value = float(self.loop.done)
        # the first is kept whatever it scores, even if that is no number
        better = bool(self.best is None or value > self.best)
        self.waited = 0 if better else self.waited + 1
        if better:
            self.best = -math.inf if math.isnan(value) else value
        return better

    def measure(self, measured: Scoring) -> Generator[Event, None, Scores]:
        for event in measured:
            yield event
            self.stop_if_requested()
        return measured.scores

    def stop_if_requested(self) -> None:
        """Whoever catches it saves: only there are the weights surely the training's own, not their mean."""
        signal = self.stop_requested()
        if signal is not None:
            raise Stopped(signal, self.loop.done)

    def save(self) -> None:
        save_checkpoint(self.out / "checkpoints", self.loop.done, self.ready.model, self.state(), self.every.keep)
        self.saved_at = time.monotonic()

    def state(self) -> dict[str, Any]:
        return {
            "loop": self.loop.state(),
            # as text: JSON knows no infinity
            "best": None if self.best is None else repr(float(self.best)),
            "waited": self.waited,
            "unmeasured": self.unmeasured,
            "before": self.before,
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state
        self.ready.model.load_state_dict(checkpoint.weights)
        self.loop.restore(state["loop"])
        self.best = None if state["best"] is None else float(state["best"])
        self.waited, self.unmeasured, self.before = state["waited"], state["unmeasured"], state["before"]


def scoring_of(model: Model, parts: Mapping[str, Split], predictions: Path | None = None) -> Scoring:
    """A model on rows that are laid out for it, without the tasks that only train the encoder."""
    answering = {name: part for name, part in parts.items() if model.task(name).loss.predicts}

    def fill(name: str, answers: npt.NDArray[Any]) -> Iterator[int]:
        return fill_predictions(model, name, answering[name].sequences, answers)

    tasks = {name: model.task(name).task for name in answering}
    return Scoring(tasks, {name: part.examples for name, part in answering.items()}, fill, predictions)


def fixed_sample(part: Split, rows: int | None) -> Split:
    """A fixed random part of the rows, for scoring while training."""
    if rows is None or rows >= len(part.examples):
        return part
    chosen = np.sort(np.random.default_rng(0).choice(len(part.examples), rows, replace=False))
    return Split(part.examples.take(chosen), part.sequences.take(chosen))


def main_metrics(tasks: Mapping[str, Task], scores: Scores) -> dict[str, float]:
    return {name: direction(tasks[name].metric) * found[tasks[name].metric] for name, found in scores.items()}


def weighted_mix(mix: Mapping[str, float], scores: Mapping[str, Mapping[str, float]]) -> float:
    """The declared mix of metrics: the sum of weight x score, turned round where less is better."""
    total = 0.0
    for name, weight in mix.items():
        task, _, metric = name.partition(".")
        total += weight * direction(metric) * scores[task][metric]
    return total
