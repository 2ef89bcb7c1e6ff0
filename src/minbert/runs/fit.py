"""The steps of a run, with an evaluation at the end of each epoch, the best or last model kept, and
checkpoints in between."""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from minbert.config.task import Files
from minbert.data.batch import Batch
from minbert.data.overall_score import overall
from minbert.inference.saved_model import save_model
from minbert.runs.best_score import BestScore
from minbert.runs.checkpoint import Checkpoint, CheckpointInterval, save_checkpoint
from minbert.runs.controls import Controls, ControlScores
from minbert.runs.cost import peak_memory
from minbert.runs.data_findings import ExaminedData, examine_data
from minbert.runs.events import Evaluated, Event, Measuring, Scores, Stopped
from minbert.runs.metrics_log import MetricsLog
from minbert.runs.profile import StepProfiler
from minbert.runs.scoring import Scoring, fixed_sample, main_metrics, scoring_of
from minbert.runs.time_plan import TimeLimit
from minbert.runs.untrained import splits_for, untrained_model
from minbert.training.gradient_conflict import GradientCosines, gradient_cosines, gradient_of, in_batches
from minbert.training.linear_probe import (
    FITTED,
    PROBE_ROWS,
    WHOLE_FITS,
    can_be_probed,
    fit_head,
    reads_plain_mean,
    set_prior,
    start_at_fit,
)
from minbert.training.loop import Loop, Step
from minbert.training.prepare import Prepared, Split
from minbert.training.probe_fit import LinearFit

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
        limit: TimeLimit | None = None,
        curves: bool = True,
    ) -> None:
        """`files`: each task's files as its settings name them, which the saved model repeats. `curves`: whether to
        write curves.png and events for TensorBoard."""
        self.ready = ready
        self.out = out
        self.every = every
        self.stop_requested = stop_requested
        self.files = files
        self.limit = limit
        self.curves = curves
        self.loop = Loop(ready.model, ready.setup)
        self.best = BestScore()
        # after which step the kept model was saved; None: it is the untrained backbone with linear heads
        self.kept_step: int | None = None
        # whether an epoch has ended that is not scored yet
        self.unmeasured = False
        # what each task's model must beat; empty if not measured
        self.controls: dict[str, Controls] = {}
        # seconds of training steps by task
        self.task_seconds: dict[str, float] = {}
        # of training steps alone, without reading, scoring and saving
        self.seconds = 0.0
        # bytes of the process at its largest, before the last resume
        self.memory = 0
        self.saved_at = time.monotonic()
        rows = ready.recipe.selection.eval_rows
        self.sample = {name: fixed_sample(split, rows) for name, split in ready.choosing.items()}

    @cached_property
    def examined(self) -> ExaminedData:
        """What is wrong with the data, and which dev rows are also training rows."""
        return examine_data(self.ready)

    @cached_property
    def train_sample(self) -> dict[str, Split]:
        """As many training rows as are scored of those that choose, for a sampler that compares the two."""
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
        return self.best.waited != self.ready.recipe.selection.patience

    @property
    def out_of_time(self) -> bool:
        return self.limit is not None and self.limit.is_reached()

    @property
    def ended(self) -> bool:
        """Whether the best model so far is the result. A time limit leaves at least one step, and one evaluation."""
        if self.loop.done == self.ready.setup.steps or not self.patient:
            return True
        return self.loop.done > 0 and self.best.value is not None and self.out_of_time

    def go(self, profile: bool = False, controls: bool = False) -> Generator[Event, None, bool]:
        """Train to the end. Returns whether it stopped before the last step: nothing improved, or the time was up.

        `controls`: score the constant answers and the untrained backbone first, even if the latter does not compete.
        """
        if self.loop.done == 0:
            competes = self.ready.recipe.selection.untrained
            fits = (yield from self.measure_controls()) if controls or competes else {}
            if competes:
                yield from self.keep_untrained(fits)
            yield from self.start_heads(fits)
        rows = self.ready.recipe.selection.chosen_on
        log = MetricsLog(self.out, self.loop.done, measured=not self.unmeasured, tensorboard=self.curves, rows=rows)
        with closing(log), closing(StepProfiler(self.out)) if profile else nullcontext() as profiler:
            while True:
                if self.unmeasured:
                    yield from self.evaluate(log)
                if self.ended:
                    break
                step = self.timed_step()
                if profiler is not None:
                    profiler.step()
                log.step(step)
                self.unmeasured = step.ends_epoch or self.out_of_time
                yield step
                self.stop_if_requested()
                if self.every.due(step.number, time.monotonic() - self.saved_at):
                    self.save()
        return self.loop.done < self.ready.setup.steps

    @property
    def probe_rows(self) -> int:
        return PROBE_ROWS if self.limit is None else self.limit.plan.probe_rows

    def measure_controls(self) -> Generator[Event, None, dict[str, LinearFit]]:
        """Score the constant answers and the untrained backbone; returns the weights of its linear heads."""
        scores = ControlScores(self.ready, self.examined.leaks, self.probe_rows)
        for fraction in scores:
            yield Measuring(round(1000 * fraction), 1000)
            self.stop_if_requested()
        self.controls = scores.found
        return scores.fits

    def keep_untrained(self, fits: Mapping[str, LinearFit]) -> Generator[Event, None, None]:
        """Keep the untrained backbone with linear heads, until something is better."""
        model = untrained_model(self.ready, fits)
        if model is not None:
            scores = yield from self.measure(scoring_of(model, splits_for(model, self.ready, self.sample)))
            self.judge(scores)
            save_model(self.out / "model", model, self.ready.tokenizer, self.files)
            total = overall(scores, self.ready.tasks, self.ready.recipe.overall)
            yield Evaluated(0, scores, total, best=True, untrained=True)

    def start_heads(self, known: Mapping[str, LinearFit]) -> Generator[Event, None, None]:
        """Start linear heads as the recipe says. If all are fitted, that model is scored and kept like any other.

        `known`: fits on the mean vectors of texts.
        """
        ready = self.ready
        able = {name: ready.recipe.tasks[name].head_init for name in ready.tasks if can_be_probed(ready.model, name)}
        probed = [name for name, start in able.items() if start in FITTED]
        for name, start in able.items():
            if start == "prior":
                set_prior(ready.model.task(name), ready.train[name].dataset.labels)
        for number, name in enumerate(probed):
            part, split = ready.model.task(name), ready.train[name]
            if name in known and able[name] != "cosine" and reads_plain_mean(part):
                start_at_fit(part, known[name])
                continue
            assert split.dataset.labels is not None
            for fraction in fit_head(ready.model, name, split.encoded, split.dataset.labels, self.probe_rows):
                yield Measuring(round(1000 * (number + fraction)), 1000 * len(probed))
                self.stop_if_requested()
        # scaled fits predict the same labels as the untrained backbone, which has been scored
        self.unmeasured = all(able.get(name) in WHOLE_FITS for name in ready.tasks)

    def timed_step(self) -> Step:
        began = time.monotonic()
        step = self.loop.step()
        took = time.monotonic() - began
        self.seconds += took
        for name, tokens in step.task_tokens.items():
            self.task_seconds[name] = self.task_seconds.get(name, 0.0) + took * tokens / step.tokens
        return step

    def evaluate(self, log: MetricsLog) -> Generator[Event, None, None]:
        """Score the model, keep it as the recipe says, and inform a sampler that uses scores."""
        ready, average = self.ready, self.ready.setup.average
        # before the first step, no sampler has drawn anything
        sampler = self.loop.position_of(self.loop.done - 1)[0].sampler if self.loop.done else None
        # of the weights that are trained, not of their average
        conflict = self.conflict() if self.compared else None
        with average.applied() if average is not None else nullcontext():
            scores = yield from self.measure(scoring_of(ready.model, self.sample))
            train: Scores = {}
            if sampler is not None and sampler.wants_scores:
                train = yield from self.measure(scoring_of(ready.model, self.train_sample))
            # nothing can interrupt from here on: either all of it has happened, or nothing
            better = self.judge(scores)
            if better or ready.recipe.selection.keep == "last":
                self.kept_step = self.loop.done
                save_model(self.out / "model", ready.model, ready.tokenizer, self.files)
        if sampler is not None and sampler.wants_scores:
            sampler.observe(main_metrics(ready.tasks, train), main_metrics(ready.tasks, scores))
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
        loss = sum(found.get("log_loss", 0.0) for found in scores.values())
        return self.best.offer(value, loss, trained=self.loop.done > 0)

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
            "best": self.best.state(),
            "kept_step": self.kept_step,
            "unmeasured": self.unmeasured,
            "controls": {name: asdict(each) for name, each in self.controls.items()},
            "task_seconds": self.task_seconds,
            # here rather than in run.json: after a kill, the time of steps that are repeated does not count twice
            "seconds": self.seconds,
            "memory": self.peak_memory(),
            "used": 0.0 if self.limit is None else self.limit.used(),
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state
        self.ready.model.load_state_dict(checkpoint.weights)
        self.loop.restore(state["loop"])
        self.best.restore(state["best"])
        self.kept_step = state["kept_step"]
        self.unmeasured = state["unmeasured"]
        self.seconds, self.memory, self.task_seconds = state["seconds"], state["memory"], state["task_seconds"]
        if self.limit is not None:
            self.limit.before = state["used"]
        self.controls = {name: Controls(**each) for name, each in state["controls"].items()}
