"""Predictions -> what can be said of each dev row: its words, its loss, how alike a pair is.

N rows, C classes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minbert.config.task import Task
from minbert.data.metrics import PROBABILITY_FLOOR, Array, pearson
from minbert.runs.predictions import DevPredictions

WORD = re.compile(r"\w+(?:['’]\w+)*")
# a text is long if nine in ten are not
LONG = 0.9


@dataclass(frozen=True, slots=True)
class Row:
    """One dev row as the tags look at it."""

    texts: tuple[str, ...]
    # the words of each text, in lower case
    words: tuple[list[str], ...]
    # class numbers, or scores
    gold: float
    answer: float
    # pairs: the share of all their words that both texts have (Jaccard)
    overlap: float | None
    # pairs: how alike the texts are by gold, from 0 to 1
    alike: float | None
    # whether it stands in the training rows
    trained: bool
    # the same for all rows: whether classes are steps of a scale; words that make a row long; tokens the model reads
    ordered: bool
    long_from: float
    room: int


def rows_of(given: DevPredictions, trained_N: Array | None = None) -> list[Row]:
    task = given.task
    words = [tuple(words_of(text) for text in texts) for texts in zip(*given.texts, strict=True)]
    answers = (given.answers.argmax(1) if task.kind == "classify" else given.answers).tolist()
    trained = [False] * len(words) if trained_N is None else trained_N.tolist()
    overlaps: list[float | None] = [None] * len(words)
    likeness: list[float | None] = [None] * len(words)
    if task.paired:
        overlap_N = np.array([overlap_of(*pair) for pair in words])
        overlaps, likeness = overlap_N.tolist(), alike_by_gold(task, given.labels, overlap_N).tolist()
    long_from = float(np.quantile([count_words(row) for row in words], LONG))
    ordered, room = is_scale(task), task.max_length
    columns = zip(zip(*given.texts, strict=True), words, given.labels.tolist(), answers, strict=True)
    return [
        Row(texts, row, gold, answer, overlap, alike, known, ordered, long_from, room)
        for (texts, row, gold, answer), overlap, alike, known in zip(columns, overlaps, likeness, trained, strict=True)
    ]


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def count_words(words: Sequence[Sequence[str]]) -> int:
    """Words of a row, over its texts."""
    return sum(map(len, words))


def overlap_of(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of all words of a pair that both texts have; of texts without words, 1."""
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one or other else 1.0


def alike_by_gold(task: Task, labels_N: Array, overlap_N: Array) -> Array:
    """How alike pairs are by their labels, from 0 to 1.

    No task says which of its labels means "the same": it is the one whose pairs have most words in common, and
    the end of a scale towards which common words grow more.
    """
    if task.kind == "score":
        low, high = task.range
        share_N = (labels_N - low) / (high - low)
        return np.asarray(share_N if pearson(share_N, overlap_N) >= 0 else 1 - share_N)
    means = [overlap_N[labels_N == label].mean() if (labels_N == label).any() else -1 for label in range(classes(task))]
    return np.asarray(labels_N == np.argmax(means), dtype=float)


def classes(task: Task) -> int:
    return len(task.labels)


def is_scale(task: Task) -> bool:
    """Whether the classes are steps of a scale: three or more numbers in their order."""
    try:
        values = [float(key) for key in task.label_keys]
    except ValueError:
        return False
    return len(values) > 2 and values in (sorted(values), sorted(values, reverse=True))


def losses_of(given: DevPredictions) -> Array:
    """Of each row: how surprising gold is, -ln p, or how far the score is from it."""
    if given.task.kind == "score":
        return np.asarray(np.abs(given.answers - given.labels))
    given_N = given.answers[np.arange(len(given.labels)), given.labels]
    return np.asarray(-np.log(np.maximum(given_N, PROBABILITY_FLOOR)))


def spelled(task: Task, value: float) -> str:
    """A label or an answer as people read it."""
    return task.display_labels[int(value)] if task.kind == "classify" else f"{value:.4g}"
