"""The steps of a run, with an evaluation at the end of each epoch, the best model kept, and checkpoints in between."""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Files, Task
from minbert.data.batch import Batch
from minbert.data.metrics import direction
from minbert.data.overall_score import overall
from minbert.inference.loop import fill_predictions
from minbert.inference.saved_model import save_model
from minbert.model.multitask import Model
from minbert.runs.checkpoint import Checkpoint, CheckpointInterval, save_checkpoint
from minbert.runs.cost import peak_memory
from minbert.runs.events import Evaluated, Event, Scores, Stopped
from minbert.runs.metrics_log import MetricsLog
from minbert.runs.profile import StepProfiler
from minbert.runs.scoring import Scoring
from minbert.training.gradient_conflict import GradientCosines, gradient_cosines, gradient_of, in_batches
from minbert.training.loop import Loop, Step
from minbert.training.prepare import Prepared, Split

# returns the number of the signal that asks training to stop, if there is one
StopRequest = Callable[[], int | None]


class Fit:
    """A model in training, with everything that a checkpoint has to restore."""

    def __init__(
        self,
        ready: Prepared,
        out: Path,
        every: CheckpointInterval,
        stop_requested: StopRequest,
        files: Mapping[str, Files],
    ) -> None:
        """`files`: each task's files as its settings name them, which the saved model repeats."""
        self.ready = ready
        self.out = out
        self.every = every
        self.stop_requested = stop_requested
        self.files = files
        self.loop = Loop(ready.model, ready.setup)
        self.best: float | None = None
        # evaluations in a row without a better one
        self.waited = 0
        # whether an epoch has ended that is not scored yet
        self.unmeasured = False
        self.before: Scores = {}
        # of training steps alone, without reading, scoring and saving
        self.seconds = 0.0
        # bytes of the process at its largest, before the last resume
        self.memory = 0
        self.saved_at = time.monotonic()
        rows = ready.recipe.selection.eval_rows
        self.sample = {name: fixed_sample(split, rows) for name, split in ready.dev.items()}

    @cached_property
    def train_sample(self) -> dict[str, Split]:
        """As many training rows as dev rows are scored, for a sampler that compares the two."""
        return {name: fixed_sample(self.ready.train[name], len(split.dataset)) for name, split in self.sample.items()}

    @cached_property
    def compared(self) -> dict[str, list[Batch]]:
        """A few training rows of each task, always the same, whose gradients are compared; empty if switched off."""
        rows, found = self.ready.recipe.selection.gradient_cosine_rows, {}
        for name, split in self.ready.train.items() if rows else ():
            few = fixed_sample(split, rows)
            found[name] = in_batches(name, few.encoded, few.dataset.labels, self.ready.recipe.tasks[name].batch_size)
        return found

    @property
    def patient(self) -> bool:
        return self.waited != self.ready.recipe.selection.patience

    def go(self, profile: bool = False) -> Generator[Event, None, bool]:
        """Train to the end. Returns whether it stopped before the last step because nothing improved any more."""
        total = self.ready.setup.steps
        log = MetricsLog(self.out, self.loop.done, measured=not self.unmeasured)
        with closing(log), closing(StepProfiler(self.out)) if profile else nullcontext() as profiler:
            while True:
                if self.unmeasured:
                    yield from self.evaluate(log)
                if self.loop.done == total or not self.patient:
                    break
                step = self.timed_step()
                if profiler is not None:
                    profiler.step()
                log.step(step)
                self.unmeasured = step.ends_epoch
                yield step
                self.stop_if_requested()
                if self.every.due(step.number, time.monotonic() - self.saved_at):
                    self.save()
        return self.loop.done < total

    def timed_step(self) -> Step:
        began = time.monotonic()
        step = self.loop.step()
        self.seconds += time.monotonic() - began
        return step

    def evaluate(self, log: MetricsLog) -> Generator[Event, None, None]:
        """Score the model, keep it if it is the best so far, and inform a sampler that uses scores."""
        ready, average = self.ready, self.ready.setup.average
        plan = ready.setup.plans[self.loop.stage]
        # of the weights that are trained, not of their average
        conflict = self.conflict() if self.compared else None
        with average.applied() if average is not None else nullcontext():
            scores = yield from self.measure(scoring_of(ready.model, self.sample))
            train: Scores = {}
            if plan.sampler.wants_scores:
                train = yield from self.measure(scoring_of(ready.model, self.train_sample))
            # nothing can interrupt from here on: either all of it has happened, or nothing
            better = self.judge(scores)
            if better:
                save_model(self.out / "model", ready.model, ready.tokenizer, self.files)
        if plan.sampler.wants_scores:
            plan.sampler.observe(main_metrics(ready.tasks, train), main_metrics(ready.tasks, scores))
        self.unmeasured = False
        evaluated = Evaluated(self.loop.done, scores, overall(scores, ready.tasks, ready.recipe.overall), better)
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
        value = overall(scores, self.ready.tasks, self.ready.recipe.overall)
        if not scores:
            # nothing to score: the last model is the best
            value = float(self.loop.done)
        # the first is kept whatever it scores, even if that is not a number
        better = bool(self.best is None or value > self.best)
        self.waited = 0 if better else self.waited + 1
        if better:
            self.best = -math.inf if math.isnan(value) else value
        return better

    def measure(self, scoring: Scoring) -> Generator[Event, None, Scores]:
        for event in scoring:
            yield event
            self.stop_if_requested()
        return scoring.scores

    def stop_if_requested(self) -> None:
        """The caller saves when it catches Stopped: only there are the weights certainly not the averaged ones."""
        signal = self.stop_requested()
        if signal is not None:
            raise Stopped(signal, self.loop.done)

    def save(self) -> None:
        save_checkpoint(self.out / "checkpoints", self.loop.done, self.ready.model, self.state(), self.every.keep)
        self.saved_at = time.monotonic()

    def peak_memory(self) -> int:
        """Bytes of the process at its largest, over all resumes."""
        return max(self.memory, peak_memory())

    def state(self) -> dict[str, Any]:
        return {
            "loop": self.loop.state(),
            # as text: JSON has no infinity
            "best": None if self.best is None else repr(float(self.best)),
            "waited": self.waited,
            "unmeasured": self.unmeasured,
            "before": self.before,
            # here rather than in run.json: after a kill, the time of steps that are repeated does not count twice
            "seconds": self.seconds,
            "memory": self.peak_memory(),
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state
        self.ready.model.load_state_dict(checkpoint.weights)
        self.loop.restore(state["loop"])
        self.best = None if state["best"] is None else float(state["best"])
        self.waited, self.unmeasured, self.before = state["waited"], state["unmeasured"], state["before"]
        self.seconds, self.memory = state["seconds"], state["memory"]


def scoring_of(model: Model, splits: Mapping[str, Split], predictions: Path | None = None) -> Scoring:
    """A model on rows that are encoded for it, without the tasks that only train the encoder."""
    scored = {name: split for name, split in splits.items() if model.task(name).loss.predicts}

    def fill(name: str, values: npt.NDArray[Any]) -> Iterator[float]:
        return fill_predictions(model, [name], scored[name].encoded, {name: values})

    tasks = {name: model.task(name).task for name in scored}
    return Scoring(tasks, {name: split.dataset for name, split in scored.items()}, fill, predictions)


def fixed_sample(split: Split, rows: int | None) -> Split:
    """A fixed random sample of the rows, for scoring during training."""
    if rows is None or rows >= len(split.dataset):
        return split
    chosen = np.sort(np.random.default_rng(0).choice(len(split.dataset), rows, replace=False))
    return Split(split.dataset.take(chosen), split.encoded.take(chosen))


def main_metrics(tasks: Mapping[str, Task], scores: Scores) -> dict[str, float]:
    return {name: direction(tasks[name].metric) * found[tasks[name].metric] for name, found in scores.items()}
