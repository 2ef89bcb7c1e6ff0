"""Pure functions: answers and labels -> scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task

Array = npt.NDArray[Any]
# a probability of 0 has no logarithm
PROBABILITY_FLOOR = 1e-12


def score(task: Task, answers: Array, labels: Array) -> dict[str, float]:
    """Every metric of a task, its main one first. `answers`: probabilities N x C, or scores N."""
    found = classify_scores(answers, labels) if task.kind == "classify" else regression_scores(answers, labels)
    return {task.metric: found[task.metric], **found}


def classify_scores(probabilities_NC: Array, labels_N: Array) -> dict[str, float]:
    counts_CC = confusion(probabilities_NC.argmax(1), labels_N, probabilities_NC.shape[1])
    hit_C = np.diag(counts_CC).astype(float)
    precision_C = divide(hit_C, counts_CC.sum(0))
    recall_C = divide(hit_C, counts_CC.sum(1))
    f1_C = divide(2 * precision_C * recall_C, precision_C + recall_C)
    present = counts_CC.sum(1) + counts_CC.sum(0) > 0
    scores = {
        "accuracy": float(hit_C.sum() / counts_CC.sum()),
        "macro_f1": float(f1_C[present].mean()),
        "log_loss": log_loss(probabilities_NC, labels_N),
    }
    each = {"f1": f1_C, "precision": precision_C, "recall": recall_C}
    # with two labels, they are those of the second one, as everybody reports it; with more, means over the labels
    if len(hit_C) == 2:
        return scores | {name: float(of_C[1]) for name, of_C in each.items()}
    return scores | {name: float(of_C[present].mean()) for name, of_C in each.items()}


def regression_scores(scores_N: Array, labels_N: Array) -> dict[str, float]:
    error_N = scores_N - labels_N
    return {
        "pearson": pearson(scores_N, labels_N),
        "spearman": pearson(ranks(scores_N), ranks(labels_N)),
        "mse": float(np.mean(error_N**2)),
        "mae": float(np.mean(np.abs(error_N))),
    }


def confusion(answers_N: Array, labels_N: Array, classes: int) -> Array:
    """Rows: the true label; columns: the answer."""
    return np.bincount(labels_N * classes + answers_N, minlength=classes**2).reshape(classes, classes)


def log_loss(probabilities_NC: Array, labels_N: Array) -> float:
    given_N = probabilities_NC[np.arange(len(labels_N)), labels_N]
    return float(-np.log(np.maximum(given_N, PROBABILITY_FLOOR)).mean())


def pearson(x_N: Array, y_N: Array) -> float:
    """The correlation; 0 where one side does not vary."""
    # tested on the values: the mean of equal numbers can differ from them in the last bit
    if np.ptp(x_N) == 0 or np.ptp(y_N) == 0:
        return 0.0
    x_N, y_N = x_N.astype(float), y_N.astype(float)
    x_N, y_N = x_N - x_N.mean(), y_N - y_N.mean()
    return float((x_N * y_N).sum() / np.sqrt((x_N**2).sum() * (y_N**2).sum()))


def ranks(x_N: Array) -> Array:
    """Ranks from 0; equal values share the mean of theirs."""
    _, group_N, size = np.unique(x_N, return_inverse=True, return_counts=True)
    first = np.cumsum(size) - size
    return np.asarray(first + (size - 1) / 2)[group_N]


def divide(top: Array, bottom: Array) -> Array:
    shares: Array = np.divide(top, bottom, out=np.zeros_like(top, dtype=float), where=bottom > 0)
    return shares


def overall(scores: Mapping[str, Mapping[str, float]], tasks: Mapping[str, Task]) -> float:
    """One number for a model.

    With the course's three tasks: (sst + quora + (sts + 1) / 2) / 3, accuracies and Pearson's r.
    Otherwise the mean of the tasks' main metrics.
    """
    if not scores:
        return 0.0
    course = {"sst": "accuracy", "quora": "accuracy", "sts": "pearson"}
    if all(metric in scores.get(name, {}) for name, metric in course.items()):
        sst, quora, r = (scores[name][metric] for name, metric in course.items())
        return (sst + quora + (r + 1) / 2) / 3
    return float(np.mean([better_high(tasks[name], found) for name, found in scores.items()]))


def better_high(task: Task, found: Mapping[str, float]) -> float:
    """The main metric, turned round where lower is better."""
    return found[task.metric] * direction(task.metric)


def direction(metric: str) -> int:
    """1 where more is better, -1 where less is."""
    return -1 if metric in ("mse", "mae", "log_loss") else 1
