"""recipe -> what there is to know about its data before training: sizes, balance, lengths, copies, leaks."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from minbert.config.recipe import Recipe
from minbert.config.task import Task
from minbert.data.dataset import Dataset, example_keys
from minbert.training.prepare import Prepared, Split, prepare


@dataclass(frozen=True)
class PartReport:
    """The rows of one task's train or dev part."""

    task: str
    part: str
    rows: int
    skipped: int
    duplicates: int
    balance: dict[str, float]
    mean_tokens: float
    most_tokens: int
    max_length: int
    truncated: int


@dataclass(frozen=True)
class Leak:
    """Dev rows of one task that stand in the training rows of a task: as a whole, or one of their texts."""

    dev: str
    train: str
    examples: int
    texts: int
    sample: str


@dataclass(frozen=True)
class Report:
    parts: list[PartReport]
    leaks: list[Leak]
    # dev rows that stand as a whole in the training rows of any task
    leaked_rows: int
    steps: int


def check_recipe(recipe: Recipe, data_root: Path | None, skip_bad_rows: bool = False) -> Report:
    """All that a training run does before its first step, and a look at the data."""
    ready = prepare(recipe, data_root, skip_bad_rows)
    keys = {(part, name): example_keys(each.examples.texts) for part, name, each in parts_of(ready)}
    parts = [report_part(ready, part, name, each, keys[part, name]) for part, name, each in parts_of(ready)]
    leaks = [
        find_leak(dev, train, keys["dev", dev], keys["train", train], ready.dev[dev].examples)
        for dev in ready.dev
        for train in ready.train
    ]
    trained_on = {key for name in ready.train for key in keys["train", name]}
    leaked = sum(key in trained_on for name in ready.dev for key in keys["dev", name])
    return Report(parts, leaks, leaked, ready.setup.steps)


def parts_of(ready: Prepared) -> list[tuple[str, str, Split]]:
    return [
        (part, name, rows[name]) for name in ready.tasks for part, rows in (("train", ready.train), ("dev", ready.dev))
    ]


def report_part(ready: Prepared, part: str, name: str, rows: Split, keys: list[tuple[str, ...]]) -> PartReport:
    return PartReport(
        task=name,
        part=part,
        rows=len(rows.examples),
        skipped=len(rows.examples.skipped),
        duplicates=sum(count - 1 for count in Counter(keys).values()),
        balance=balance(ready.tasks[name], rows.examples),
        mean_tokens=float(rows.sequences.tokens.mean()),
        most_tokens=int(rows.sequences.tokens.max()),
        max_length=ready.model.task(name).max_length,
        truncated=int(rows.sequences.truncated.sum()),
    )


def balance(task: Task, examples: Dataset) -> dict[str, float]:
    """The share of each label, or of each fifth of the range of scores."""
    assert examples.labels is not None
    if task.kind == "classify":
        counts = np.bincount(examples.labels, minlength=len(task.labels))
        return dict(zip(task.display_labels, (counts / counts.sum()).tolist(), strict=True))
    edges = np.linspace(task.range[0], task.range[1], 6)
    counts, _ = np.histogram(examples.labels, edges)
    names = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return dict(zip(names, (counts / counts.sum()).tolist(), strict=True))


def find_leak(
    dev: str, train: str, dev_rows: list[tuple[str, ...]], train_rows: list[tuple[str, ...]], examples: Dataset
) -> Leak:
    wholes = set(train_rows)
    singles = {text for row in train_rows for text in row if text}
    whole = [i for i, row in enumerate(dev_rows) if row in wholes]
    single = [i for i, row in enumerate(dev_rows) if any(text in singles for text in row)]
    sample = ""
    if single or whole:
        first = (whole or single)[0]
        sample = f"{examples.path.name}:{examples.lines[first]}: {' | '.join(c[first] for c in examples.texts)}"[:160]
    return Leak(dev, train, len(whole), len(single), sample)
