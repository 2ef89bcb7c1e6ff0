"""(training labels, other labels) -> the constant answer, and how well it does on other rows.

N rows, C labels.
"""

from typing import Any

import numpy as np

from minbert.config.task import Task
from minbert.data.metrics import Array, score

# the frequency of each label in the training rows, the most frequent first; or their mean score
ConstantAnswer = dict[Any, float] | float


def constant_answer(task: Task, labels_N: Array) -> ConstantAnswer:
    if task.kind == "score":
        return float(labels_N.mean())
    frequency_C = np.bincount(labels_N, minlength=len(task.labels)) / len(labels_N)
    order = np.argsort(-frequency_C, kind="stable")
    return {task.label_texts[label]: float(frequency_C[label]) for label in order}


def constant_scores(task: Task, answer: ConstantAnswer, labels_N: Array) -> dict[str, float]:
    """All metrics of the same answer for every row: the mean, or the most frequent label with these frequencies."""
    # a threshold belongs to a model's probabilities
    return score(task.with_threshold(None), constant_predictions(task, answer, len(labels_N)), labels_N)


def constant_predictions(task: Task, answer: ConstantAnswer, rows: int) -> Array:
    """The same for every row: the frequencies of the labels N x C, or the mean score N."""
    if isinstance(answer, dict):
        return np.tile(np.array([answer.get(label, 0.0) for label in task.label_texts]), (rows, 1))
    return np.full(rows, answer)
