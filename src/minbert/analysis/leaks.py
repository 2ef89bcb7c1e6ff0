"""A run and its dev rows -> which of them occur in its training data, and how they affect the score."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minbert.config.task import read_task
from minbert.data.dev_split import without_held_out
from minbert.data.leaks import TaskTrainingRows, index_training_rows, leak_masks
from minbert.data.metrics import Array, score
from minbert.data.source import DataSource
from minbert.data.text_keys import example_keys
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.directory import read_run
from minbert.runs.predictions import DevPredictions


@dataclass(frozen=True)
class TrainingRows:
    """What a run was trained on, by task, and sentences that say why some of it is unknown."""

    tasks: Mapping[str, TaskTrainingRows]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeakSource:
    """Dev rows that occur in the training rows of one task."""

    task: str
    # the whole row; at least one of its texts
    rows: int
    texts: int


@dataclass(frozen=True)
class Leaks:
    sources: tuple[LeakSource, ...]
    # dev rows that occur as whole rows in the training rows of any task, and those with at least one such text
    rows: int
    texts: int
    metric: str
    # on all dev rows; without the rows that leaked as whole rows; on only those. None if there are no such rows
    score: float
    score_without_leaks: float | None
    score_on_leaks: float | None
    # sentences: training files that are missing or have changed, so that these counts may be incomplete
    unread: tuple[str, ...]


def read_training(run: Path) -> TrainingRows:
    """The training rows of every task of a run, evaluated or not, from the files that its task files name."""
    then = read_run(run).get("sha256", {}).get("data", {})
    tasks, train, dev, unread = {}, {}, {}, []
    for path in sorted((run / "tasks").glob("*.toml")):
        task = read_task(path.stem, str(path.resolve()))
        source = DataSource(skip_bad_rows=True)
        try:
            if task.files.dev is None:
                task, train[task.name], dev[task.name] = source.read_splits(task)
            else:
                train[task.name] = source.read(task, "train")
        except UserError as wrong:
            unread.append(wrong.problem)
            continue
        tasks[task.name], where = task, train[task.name].path
        if then.get(f"{task.name} train") not in (None, sha256(where)):
            unread.append(f"Task '{task.name}': the train file has changed since the run: {where}.")
    rows = without_held_out(tasks, train, dev)
    return TrainingRows(
        {name: index_training_rows(example_keys(each.texts)) for name, each in rows.items()}, tuple(unread)
    )


def find_leaks(predictions: DevPredictions, training: TrainingRows) -> tuple[Leaks, Array]:
    """The leaks, and which dev rows leaked as whole rows, N."""
    keys = example_keys(predictions.texts)
    whole_N, text_N = np.zeros((2, len(keys)), bool)
    sources = []
    for name, known in training.tasks.items():
        here_N, part_N = leak_masks(keys, known)
        sources.append(LeakSource(name, int(here_N.sum()), int(part_N.sum())))
        whole_N |= here_N
        text_N |= part_N
    metric = predictions.task.metric

    def scored(at_N: Array) -> float | None:
        return (
            score(predictions.task, predictions.values[at_N], predictions.labels[at_N])[metric] if at_N.any() else None
        )

    return Leaks(
        sources=tuple(sources),
        rows=int(whole_N.sum()),
        texts=int(text_N.sum()),
        metric=metric,
        score=score(predictions.task, predictions.values, predictions.labels)[metric],
        score_without_leaks=scored(~whole_N),
        score_on_leaks=scored(whole_N),
        unread=training.unread,
    ), whole_N
