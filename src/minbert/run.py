"""recipe -> run: train, measure, keep the best, write it all down."""

import json
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert import rundir
from minbert.answers import write_answers
from minbert.curves import draw_curves
from minbert.evaluate import fill_answers, no_answers
from minbert.machine import matrix_rate
from minbert.metrics import direction, overall, score
from minbert.model import Model
from minbert.prepare import Part, Prepared, prepare
from minbert.profile import Profile
from minbert.recipe import Recipe
from minbert.trainer import Step, train

Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Started:
    """Everything is read and built; training begins."""

    # task: (training rows, dev rows)
    rows: dict[str, tuple[int, int]]
    skipped: dict[str, int]
    parameters: dict[str, int]
    steps: int
    # floating-point operations a second of a matrix product of this size here
    rate: float


@dataclass(frozen=True)
class Measuring:
    """How far an evaluation has come: rows done of all rows."""

    done: int
    total: int


@dataclass(frozen=True)
class Evaluated:
    """The dev scores at some step; `best` says whether this model is the one kept so far."""

    step: int
    scores: Scores
    overall: float
    best: bool


@dataclass(frozen=True)
class Finished:
    """The kept model on the whole dev files, and the untrained one where it was asked for."""

    scores: Scores
    overall: float
    before: Scores
    before_overall: float
    stopped_early: bool


Event = Started | Step | Measuring | Evaluated | Finished


def start_run(
    recipe: Recipe,
    out: Path,
    *,
    data_root: Path | None = None,
    skip_bad_rows: bool = False,
    force: bool = False,
    measure_before: bool = False,
    profile: bool = False,
) -> Iterator[Event]:
    """Train a recipe into a run directory. Mistakes stop before the directory is made or touched."""
    rundir.check_free(out, force)
    began = time.monotonic()
    ready = prepare(recipe, data_root, skip_bad_rows)
    about = rundir.about_this_run(ready, skip_bad_rows)
    rundir.create(out, about, force)
    try:
        rundir.write_recipe(out, ready)
        yield started(ready)
        before = (yield from measure(ready.model, ready.dev)) if measure_before else {}
        early = yield from learn(ready, out, profile)
        model, _ = rundir.load_model(out, recipe.precision)
        (out / "predictions").mkdir()
        scores = yield from measure(model, ready.dev, out / "predictions")
    except BaseException as wrong:
        state = "interrupted" if isinstance(wrong, KeyboardInterrupt | GeneratorExit | SystemExit) else "failed"
        rundir.write_json(out / "run.json", about | {"state": state, "reason": str(wrong) or type(wrong).__name__})
        raise
    total = overall(scores, ready.tasks)
    result = {"state": "finished", "seconds": round(time.monotonic() - began, 1), "scores": scores, "overall": total}
    rundir.write_json(out / "run.json", about | result)
    yield Finished(scores, total, before, overall(before, ready.tasks) if before else 0.0, early)


def started(ready: Prepared) -> Started:
    parts = {name: (ready.train[name].examples, ready.dev[name].examples) for name in ready.tasks}
    shape = ready.model.bert.shape
    return Started(
        {name: (len(train_rows), len(dev_rows)) for name, (train_rows, dev_rows) in parts.items()},
        {name: sum(len(rows.skipped) for rows in both) for name, both in parts.items()},
        ready.model.counts(),
        ready.steps,
        matrix_rate(shape.width, shape.inner, ready.model.bert.dtype, ready.model.device),
    )


def learn(ready: Prepared, out: Path, profile: bool = False) -> Generator[Event, None, bool]:
    """The steps, with an evaluation at the end of each epoch; the best model is kept in out/model.

    Returns whether it stopped before the last step.
    """
    recipe, best, waited, last = ready.recipe, -np.inf, 0, 0
    sample = {name: dev_sample(part, recipe.selection.rows) for name, part in ready.dev.items()}
    with closing(Log(out)) as log, closing(Profile(out)) if profile else nullcontext() as watched:
        for step in train(ready.model, ready.plans, ready.feeds, ready.balancer, recipe.optimiser):
            last = step.number
            if watched is not None:
                watched.step()
            log.step(step)
            yield step
            if not step.ends_epoch:
                continue
            scores = yield from measure(ready.model, sample)
            total = overall(scores, ready.tasks)
            value = mixed(recipe.selection.mix, scores) if recipe.selection.mix else total
            if not scores:
                # nothing to measure: the last model is the best
                value = float(step.number)
            waited = 0 if value > best else waited + 1
            if value > best:
                best = value
                rundir.save_model(out / "model", ready.model, ready.text, recipe.tasks)
            evaluated = Evaluated(step.number, scores, total, waited == 0)
            log.evaluated(evaluated)
            yield evaluated
            if waited == recipe.selection.patience:
                break
    draw_curves(out)
    return last < ready.steps


class Log:
    """metrics.jsonl and TensorBoard events of a run."""

    def __init__(self, out: Path) -> None:
        from tensorboardX import SummaryWriter

        self.events = SummaryWriter(str(out / "events"))
        self.file = (out / "metrics.jsonl").open("a", encoding="utf-8", buffering=1)  # a line at a time

    def step(self, step: Step) -> None:
        row = {"step": step.number, "stage": step.stage, "epoch": step.epoch, "losses": step.losses}
        self.write(row | {"learning_rate": step.learning_rate, "tokens": step.tokens})
        for name, loss in step.losses.items():
            self.events.add_scalar(f"loss/{name}", loss, step.number)
        self.events.add_scalar("learning_rate", step.learning_rate, step.number)

    def evaluated(self, event: Evaluated) -> None:
        row = {"step": event.step, "scores": event.scores, "overall": event.overall, "best": event.best}
        self.write(row)
        for name, found in event.scores.items():
            for metric, value in found.items():
                self.events.add_scalar(f"dev/{name}/{metric}", value, event.step)
        self.events.add_scalar("dev/overall", event.overall, event.step)

    def write(self, row: dict[str, Any]) -> None:
        self.file.write(json.dumps(row) + "\n")

    def close(self) -> None:
        self.file.close()
        self.events.close()


def measure(model: Model, dev: Mapping[str, Part], predictions: Path | None = None) -> Generator[Event, None, Scores]:
    """Score every task, telling how far it has come."""
    total = sum(len(part.examples) for part in answerable(model, dev).values())
    done = 0
    scores = {}
    for name, part in answerable(model, dev).items():
        task, labels = model.task(name).task, part.examples.labels
        assert labels is not None
        answers = no_answers(task, len(part.examples))
        for rows in fill_answers(model, name, part.sequences, answers):
            done += rows
            yield Measuring(done, total)
        scores[name] = score(task, answers, labels)
        if predictions is not None:
            write_answers(predictions / f"{name}-dev.csv", task, part.examples, answers)
    return scores


def answerable(model: Model, dev: Mapping[str, Part]) -> dict[str, Part]:
    """Without the tasks that only train the encoder."""
    return {name: part for name, part in dev.items() if model.task(name).loss.answering}


def dev_sample(part: Part, rows: int | None) -> Part:
    """A fixed random part of the dev rows, for scoring while training."""
    if rows is None or rows >= len(part.examples):
        return part
    chosen = np.sort(np.random.default_rng(0).choice(len(part.examples), rows, replace=False))
    return Part(part.examples.take(chosen), part.sequences.take(chosen))


def mixed(mix: Mapping[str, float], scores: Mapping[str, Mapping[str, float]]) -> float:
    """The declared mix of metrics: the sum of weight x score, turned round where less is better."""
    total = 0.0
    for name, weight in mix.items():
        task, _, metric = name.partition(".")
        total += weight * direction(metric) * scores[task][metric]
    return total
