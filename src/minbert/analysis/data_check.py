"""Recipe -> a report on its data before training: sizes, label balance, lengths, duplicates, leaks."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from minbert.config.recipe import Recipe
from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.data.text_keys import example_keys
from minbert.training.prepare import Prepared, Split, prepare


@dataclass(frozen=True)
class SplitReport:
    """The rows of one task's train or dev split."""

    task: str
    # train or dev
    split: str
    rows: int
    skipped: int
    duplicates: int
    balance: dict[str, float]
    mean_tokens: float
    most_tokens: int
    max_length: int
    truncated: int


@dataclass(frozen=True)
class TaskLeak:
    """Dev rows of one task that occur in the training rows of a task: the whole row, or one of its texts."""

    dev: str
    train: str
    examples: int
    texts: int
    sample: str


@dataclass(frozen=True)
class DataReport:
    splits: list[SplitReport]
    leaks: list[TaskLeak]
    # dev rows that occur as whole rows in the training rows of any task
    leaked_rows: int
    steps: int


def check_recipe(recipe: Recipe, source: DataSource = DEFAULT_SOURCE) -> DataReport:
    """Do everything that a training run does before its first step, then examine the data."""
    ready = prepare(recipe, source)
    keys = {(split, name): example_keys(each.dataset.texts) for split, name, each in named_splits(ready)}
    splits = [report_split(ready, split, name, each, keys[split, name]) for split, name, each in named_splits(ready)]
    leaks = [
        find_task_leak(dev, train, keys["dev", dev], keys["train", train], ready.dev[dev].dataset)
        for dev in ready.dev
        for train in ready.train
    ]
    trained_on = {key for name in ready.train for key in keys["train", name]}
    leaked = sum(key in trained_on for name in ready.dev for key in keys["dev", name])
    return DataReport(splits, leaks, leaked, ready.setup.steps)


def named_splits(ready: Prepared) -> list[tuple[str, str, Split]]:
    return [
        (split, name, rows[name])
        for name in ready.tasks
        for split, rows in (("train", ready.train), ("dev", ready.dev))
    ]


def report_split(ready: Prepared, split: str, name: str, rows: Split, keys: list[tuple[str, ...]]) -> SplitReport:
    return SplitReport(
        task=name,
        split=split,
        rows=len(rows.dataset),
        skipped=len(rows.dataset.skipped),
        duplicates=sum(count - 1 for count in Counter(keys).values()),
        balance=label_balance(ready.tasks[name], rows.dataset),
        mean_tokens=float(rows.encoded.tokens.mean()),
        most_tokens=int(rows.encoded.tokens.max()),
        max_length=ready.model.task(name).max_length,
        truncated=int(rows.encoded.truncated.sum()),
    )


def label_balance(task: Task, examples: Dataset) -> dict[str, float]:
    """The fraction of rows with each label, or in each fifth of the score range."""
    assert examples.labels is not None
    if task.kind == "classify":
        counts = np.bincount(examples.labels, minlength=len(task.labels))
        return dict(zip(task.display_labels, (counts / counts.sum()).tolist(), strict=True))
    edges = np.linspace(task.range[0], task.range[1], 6)
    counts, _ = np.histogram(examples.labels, edges)
    names = [f"{low:g}-{high:g}" for low, high in pairwise(edges)]
    return dict(zip(names, (counts / counts.sum()).tolist(), strict=True))


def find_task_leak(
    dev: str, train: str, dev_rows: list[tuple[str, ...]], train_rows: list[tuple[str, ...]], examples: Dataset
) -> TaskLeak:
    wholes = set(train_rows)
    singles = {text for row in train_rows for text in row if text}
    whole = [i for i, row in enumerate(dev_rows) if row in wholes]
    single = [i for i, row in enumerate(dev_rows) if any(text in singles for text in row)]
    sample = ""
    if single or whole:
        first = (whole or single)[0]
        sample = f"{examples.path.name}:{examples.lines[first]}: {' | '.join(c[first] for c in examples.texts)}"[:160]
    return TaskLeak(dev, train, len(whole), len(single), sample)
