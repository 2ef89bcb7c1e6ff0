"""recipe -> run: the one place that knows every part."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from minbert import rundir
from minbert.answers import write_answers
from minbert.balancers import BALANCERS
from minbert.batch import Sequences
from minbert.bert import Bert
from minbert.curves import draw_curves
from minbert.dropout import Noise
from minbert.errors import UserError, did_you_mean
from minbert.evaluate import evaluate, sequences_for
from minbert.hub import find_backbone
from minbert.metrics import overall
from minbert.model import Model
from minbert.pretrained import load_backbone, read_config
from minbert.recipe import Recipe
from minbert.stages import Feed, StagePlan, plan_stages
from minbert.table import Examples, balanced_weights, read_split
from minbert.task import METRICS, Task
from minbert.text import Text
from minbert.trainer import Step, train
from minbert.variants import build


@dataclass(frozen=True)
class Started:
    """Everything is read and built; training begins."""

    examples: dict[str, tuple[int, int]]
    skipped: dict[str, int]
    parameters: dict[str, int]
    steps: int


@dataclass(frozen=True)
class Evaluated:
    """The dev scores at some step; `best` says whether this model is the one kept so far."""

    step: int
    scores: dict[str, dict[str, float]]
    overall: float
    best: bool


@dataclass(frozen=True)
class Measuring:
    """How far an evaluation has come: rows done of all rows."""

    done: int
    total: int


@dataclass(frozen=True)
class Finished:
    """The kept model on the whole dev files."""

    scores: dict[str, dict[str, float]]
    overall: float
    before: dict[str, dict[str, float]]
    stopped_early: bool


Event = Started | Step | Evaluated | Measuring | Finished


@dataclass(frozen=True)
class Data:
    """The rows of one task."""

    task: Task
    train: Examples
    dev: Examples


def read_data(recipe: Recipe, data_root: Path | None, skip_bad_rows: bool = False) -> dict[str, Data]:
    """Every task's rows; the tasks come back with labels and class weights known."""
    data = {}
    for name, task in recipe.read_tasks().items():
        task, train_rows, dev_rows = read_split(task, data_root, skip_bad_rows=skip_bad_rows)
        if task.class_weights == "balanced":
            assert train_rows.labels is not None
            task = task.with_class_weights(balanced_weights(train_rows.labels, len(task.labels)))
        data[name] = Data(task, train_rows, dev_rows)
    return data


def build_model(recipe: Recipe, tasks: Mapping[str, Task], folder: Path) -> tuple[Model, Text]:
    """The pretrained encoder with fresh heads; the seed decides the heads."""
    with seeded(recipe.seed):
        bert, text = load_backbone(folder, Noise(recipe.seed))
        return Model(bert, tasks, recipe.tasks), text


def outline(recipe: Recipe, tasks: Mapping[str, Task], folder: Path) -> Model:
    """The model without its weights: checks that all parts fit, and counts them."""
    shape, _ = read_config(folder)
    with torch.device("meta"):
        return Model(Bert(shape), tasks, recipe.tasks)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Initialisation draws from torch's global generator: seed it, and put it back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def start_run(
    recipe: Recipe,
    out: Path,
    *,
    data_root: Path | None = None,
    skip_bad_rows: bool = False,
    force: bool = False,
    measure_before: bool = False,
) -> Iterator[Event]:
    """Train a recipe into a run directory. Mistakes stop before the directory is made or touched."""
    if out.exists() and not force:
        rundir.create(out, force=False)
    folder = find_backbone(recipe.backbone)
    data = read_data(recipe, data_root, skip_bad_rows)
    tasks = {name: each.task for name, each in data.items()}
    check_mix(recipe, tasks)
    model, text = build_model(recipe, tasks, folder)
    train_sequences = {name: sequences_for(model, name, text, each.train.texts) for name, each in data.items()}
    dev = {name: (each.dev, sequences_for(model, name, text, each.dev.texts)) for name, each in data.items()}
    feeds = {
        name: Feed(name, train_sequences[name], each.train.labels, recipe.tasks[name].batch_size, recipe.seed)
        for name, each in data.items()
        if each.train.labels is not None
    }
    plans = plan_stages(recipe, feeds)
    balancer = build("balancer", BALANCERS, recipe.balancer, "the recipe", list(recipe.tasks))
    rundir.create(out, force)
    rundir.write_recipe(out, recipe, tasks)
    files = {f"{name} {part}": getattr(each, part).path for name, each in data.items() for part in ("train", "dev")}
    about = rundir.about_this_run(recipe, files, folder, data_root)
    rundir.write_json(out / "run.json", about)
    yield Started(
        {name: (len(each.train), len(each.dev)) for name, each in data.items()},
        {name: len(each.train.skipped) + len(each.dev.skipped) for name, each in data.items()},
        model.counts(),
        sum(plan.steps for plan in plans),
    )
    try:
        before: dict[str, dict[str, float]] = {}
        if measure_before:
            before = yield from measure(model, dev)
        early = yield from learn(recipe, model, text, tasks, plans, feeds, balancer, dev, out)
        model, text = rundir.load_model(out)
        (out / "predictions").mkdir()
        scores = yield from measure(model, dev, out / "predictions")
    except BaseException as wrong:
        state = "interrupted" if isinstance(wrong, KeyboardInterrupt | GeneratorExit) else "failed"
        rundir.write_json(out / "run.json", about | {"state": state, "reason": str(wrong) or type(wrong).__name__})
        raise
    total = overall(scores, tasks)
    rundir.write_json(out / "run.json", about | {"state": "finished", "scores": scores, "overall": total})
    yield Finished(scores, total, before, early)


def learn(
    recipe: Recipe,
    model: Model,
    text: Text,
    tasks: dict[str, Task],
    plans: list[StagePlan],
    feeds: dict[str, Feed],
    balancer: Any,
    dev: dict[str, tuple[Examples, Sequences]],
    out: Path,
) -> Iterator[Event]:
    """The steps, with an evaluation at the end of each epoch; the best model is kept in out/model."""
    from tensorboardX import SummaryWriter

    sample = {name: dev_sample(*rows, recipe.selection.rows) for name, rows in dev.items()}
    best, waited = -np.inf, 0
    events = SummaryWriter(str(out / "events"))
    with (out / "metrics.jsonl").open("a", encoding="utf-8") as log, closing(events):
        for step in train(model, plans, feeds, balancer, recipe.optimiser):
            log.write(json.dumps({"step": step.number, "stage": step.stage, "losses": step.losses,
                                  "learning_rate": step.learning_rate, "tokens": step.tokens}) + "\n")  # fmt: skip
            for name, loss in step.losses.items():
                events.add_scalar(f"loss/{name}", loss, step.number)
            events.add_scalar("learning_rate", step.learning_rate, step.number)
            yield step
            if not step.ends_epoch:
                continue
            scores = yield from measure(model, sample)
            total = overall(scores, tasks)
            value = mixed(recipe.selection.mix, scores) if recipe.selection.mix else total
            waited = 0 if value > best else waited + 1
            if value > best:
                best = value
                rundir.save_model(out / "model", model, text, recipe.tasks)
            log.write(json.dumps({"step": step.number, "scores": scores, "overall": total, "best": waited == 0}) + "\n")
            log.flush()
            for name, found in scores.items():
                for metric, score in found.items():
                    events.add_scalar(f"dev/{name}/{metric}", score, step.number)
            events.add_scalar("dev/overall", total, step.number)
            yield Evaluated(step.number, scores, total, waited == 0)
            if recipe.selection.patience is not None and waited > recipe.selection.patience:
                break
    draw_curves(out)
    return step.number < step.total


@contextmanager
def closing(events: Any) -> Iterator[None]:
    try:
        yield
    finally:
        events.close()


def measure(
    model: Model, dev: Mapping[str, tuple[Examples, Sequences]], predictions: Path | None = None
) -> Iterator[Event]:
    """Score every task, telling how far it has come; returns the scores."""
    total = sum(len(examples) for examples, _ in dev.values())
    done = 0
    scores = {}
    for name, (examples, sequences) in dev.items():
        yield Measuring(done, total)
        found = evaluate(model, name, examples, sequences)
        done += len(examples)
        scores[name] = found.scores
        if predictions is not None:
            write_answers(predictions / f"{name}-dev.csv", model.task(name).task, examples, found.answers)
    yield Measuring(total, total)
    return scores


def dev_sample(examples: Examples, sequences: Sequences, rows: int | None) -> tuple[Examples, Sequences]:
    """A fixed random part of the dev rows, for scoring while training."""
    if rows is None or rows >= len(examples):
        return examples, sequences
    chosen = np.sort(np.random.default_rng(0).choice(len(examples), rows, replace=False))
    first = sequences.first_segment
    part = replace(
        sequences,
        parts=tuple(part.take(chosen) for part in sequences.parts),
        first_segment=None if first is None else first[chosen],
    )
    return examples.take(chosen), part


def mixed(mix: Mapping[str, float], scores: Mapping[str, Mapping[str, float]]) -> float:
    """The declared mix of metrics."""
    return sum(weight * scores[name.split(".")[0]][name.split(".")[1]] for name, weight in mix.items())


def check_mix(recipe: Recipe, tasks: Mapping[str, Task]) -> None:
    for name in recipe.selection.mix:
        task, _, metric = name.partition(".")
        if task not in tasks:
            raise UserError(f"selection.mix: '{name}' should be task.metric. {did_you_mean(task, tasks)}")
        known = (*METRICS[tasks[task].kind], *(("log_loss",) if tasks[task].kind == "classify" else ()))
        if metric not in known:
            raise UserError(f"selection.mix: unknown metric '{metric}' of task '{task}'. {did_you_mean(metric, known)}")
