"""A run and its dev rows -> which of them stand in the rows it was trained on, and what they do to the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minbert.config.task import read_task
from minbert.data.metrics import Array, score
from minbert.data.source import DataSource
from minbert.data.text_keys import example_keys
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.directory import read_run
from minbert.runs.predictions import DevPredictions

# an example without case, punctuation and the order of a pair
Key = tuple[str, ...]


@dataclass(frozen=True)
class Trained:
    """The training rows of a task, as a whole and text by text."""

    rows: frozenset[Key]
    texts: frozenset[str]


@dataclass(frozen=True)
class Training:
    """What a run was trained on, by task; and sentences that say why some of it is not known."""

    tasks: Mapping[str, Trained]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Dev rows that stand in the training rows of one task."""

    task: str
    # as a whole; at least one of their texts
    rows: int
    texts: int


@dataclass(frozen=True)
class Leaks:
    sources: tuple[Source, ...]
    # dev rows that stand as a whole in the training rows of any task, and those of which a text does
    rows: int
    texts: int
    metric: str
    # on all dev rows; without those that leaked as a whole; on these alone. None where there are no such rows
    score: float
    without: float | None
    alone: float | None
    # sentences: training files that are gone or have changed, so that this is not all, or not sure
    unread: tuple[str, ...]


def read_training(run: Path) -> Training:
    """The training rows of every task of a run, whether or not it is measured, from the files that it names."""
    then = read_run(run).get("sha256", {}).get("data", {})
    tasks, unread = {}, []
    for path in sorted((run / "tasks").glob("*.toml")):
        task = read_task(path.stem, str(path.resolve()))
        try:
            examples = DataSource(skip_bad_rows=True).read(task, "train")
        except UserError as wrong:
            unread.append(wrong.problem)
            continue
        if then.get(f"{task.name} train") not in (None, sha256(examples.path)):
            unread.append(f"Task '{task.name}': its train file has changed since the run: {examples.path}.")
        tasks[task.name] = trained_on(examples.texts)
    return Training(tasks, tuple(unread))


def trained_on(texts: Sequence[Sequence[str]]) -> Trained:
    rows = frozenset(example_keys(texts))
    return Trained(rows, frozenset(text for row in rows for text in row if text))


def find_leaks(given: DevPredictions, training: Training) -> tuple[Leaks, Array]:
    """What leaked, and which dev rows did as a whole, N."""
    keys = example_keys(given.texts)
    whole_N, text_N = np.zeros((2, len(keys)), bool)
    sources = []
    for name, known in training.tasks.items():
        here_N = np.fromiter((key in known.rows for key in keys), bool, len(keys))
        part_N = here_N | np.fromiter((not known.texts.isdisjoint(key) for key in keys), bool, len(keys))
        sources.append(Source(name, int(here_N.sum()), int(part_N.sum())))
        whole_N |= here_N
        text_N |= part_N
    metric = given.task.metric

    def scored(at_N: Array) -> float | None:
        return score(given.task, given.answers[at_N], given.labels[at_N])[metric] if at_N.any() else None

    return Leaks(
        sources=tuple(sources),
        rows=int(whole_N.sum()),
        texts=int(text_N.sum()),
        metric=metric,
        score=score(given.task, given.answers, given.labels)[metric],
        without=scored(~whole_N),
        alone=scored(whole_N),
        unread=training.unread,
    ), whole_N
