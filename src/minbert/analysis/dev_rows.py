"""Predictions -> facts about each dev row: its words, its loss, how similar the two texts of a pair are.

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
# a row is long if it has more words than this fraction of the rows
LONG_QUANTILE = 0.9


@dataclass(frozen=True, slots=True)
class DevRow:
    """One dev row as the tags see it."""

    texts: tuple[str, ...]
    # the words of each text, in lower case
    words: tuple[list[str], ...]
    # class indices, or scores
    gold: float
    prediction: float
    # pairs: the fraction of their distinct words that both texts contain (Jaccard)
    overlap: float | None
    # pairs: how similar the texts are according to the gold label, from 0 to 1
    similarity: float | None
    # whether the row occurs in the training data
    in_training: bool
    # the same for all rows: whether the classes are ordered; the number of words above which a row is long;
    # the number of tokens that the model reads
    ordinal: bool
    long_above: float
    max_length: int


def describe_rows(predictions: DevPredictions, in_training_N: Array | None = None) -> list[DevRow]:
    task = predictions.task
    words = [tuple(split_words(text) for text in texts) for texts in zip(*predictions.texts, strict=True)]
    predicted = predictions.predicted.tolist()
    in_training = [False] * len(words) if in_training_N is None else in_training_N.tolist()
    overlaps: list[float | None] = [None] * len(words)
    similarities: list[float | None] = [None] * len(words)
    if task.paired:
        overlap_N = np.array([word_overlap(*pair) for pair in words])
        overlaps, similarities = overlap_N.tolist(), gold_similarity(task, predictions.labels, overlap_N).tolist()
    long_above = float(np.quantile([count_words(row) for row in words], LONG_QUANTILE))
    ordinal = is_ordinal(task)
    columns = zip(zip(*predictions.texts, strict=True), words, predictions.labels.tolist(), predicted, strict=True)
    return [
        DevRow(texts, row, gold, prediction, overlap, similarity, known, ordinal, long_above, task.most_tokens)
        for (texts, row, gold, prediction), overlap, similarity, known in zip(
            columns, overlaps, similarities, in_training, strict=True
        )
    ]


def split_words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def count_words(words: Sequence[Sequence[str]]) -> int:
    """The number of words in all texts of a row."""
    return sum(map(len, words))


def word_overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """The fraction of a pair's distinct words that both texts contain; 1 if there are no words."""
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one or other else 1.0


def gold_similarity(task: Task, labels_N: Array, overlap_N: Array) -> Array:
    """How similar the texts of each pair are according to their gold label, from 0 to 1.

    A task does not declare which of its labels means "the same". For classes it is taken to be the label whose pairs
    share the most words, for scores the end of the range toward which the overlap increases.
    """
    if task.kind == "score":
        low, high = task.range
        fraction_N = (labels_N - low) / (high - low)
        return np.asarray(fraction_N if pearson(fraction_N, overlap_N) >= 0 else 1 - fraction_N)
    masks = [labels_N == label for label in range(len(task.labels))]
    means = [overlap_N[at_N].mean() if at_N.any() else -1 for at_N in masks]
    return np.asarray(labels_N == np.argmax(means), dtype=float)


def is_ordinal(task: Task) -> bool:
    """Whether the classes are ordered: three or more numbers in ascending or descending order."""
    try:
        values = [float(key) for key in task.label_keys]
    except ValueError:
        return False
    return len(values) > 2 and values in (sorted(values), sorted(values, reverse=True))


def row_losses(predictions: DevPredictions) -> Array:
    """For each row: -ln p of the gold label, or the absolute error of the score."""
    if predictions.task.kind == "score":
        return np.asarray(np.abs(predictions.values - predictions.labels))
    gold_N = predictions.values[np.arange(len(predictions.labels)), predictions.labels]
    return np.asarray(-np.log(np.maximum(gold_N, PROBABILITY_FLOOR)))


def label_text(task: Task, value: float) -> str:
    """A class index or a score as it is displayed."""
    return task.display_labels[int(value)] if task.kind == "classify" else f"{value:.4g}"
