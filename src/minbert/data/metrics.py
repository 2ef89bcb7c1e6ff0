"""Predictions and labels -> the metrics of a task."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task

Array = npt.NDArray[Any]
# a probability of 0 has no logarithm
PROBABILITY_FLOOR = 1e-12


def score(task: Task, predictions: Array, labels: Array) -> dict[str, float]:
    """Every metric of a task, its main metric first. `predictions`: probabilities N x C, or scores N."""
    if task.kind == "classify":
        found = classify_scores(predictions, labels, task.threshold)
    else:
        found = regression_scores(predictions, labels)
    return {task.metric: found[task.metric], **found}


def predicted_classes(probabilities_NC: Array, threshold: float | None = None) -> Array:
    """The predicted label of each row, N: the most probable one, or the second of two from the threshold on."""
    if threshold is None:
        return np.asarray(probabilities_NC.argmax(1))
    return np.asarray(probabilities_NC[:, 1] >= threshold).astype(np.int64)


def classify_scores(probabilities_NC: Array, labels_N: Array, threshold: float | None = None) -> dict[str, float]:
    counts_CC = confusion(predicted_classes(probabilities_NC, threshold), labels_N, probabilities_NC.shape[1])
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
    # with two labels, those of the second label, as is usual; with more, means over the labels
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


def confusion(predictions_N: Array, labels_N: Array, classes: int) -> Array:
    """Rows: the true label; columns: the prediction."""
    return np.bincount(labels_N * classes + predictions_N, minlength=classes**2).reshape(classes, classes)


def log_loss(probabilities_NC: Array, labels_N: Array) -> float:
    true_N = probabilities_NC[np.arange(len(labels_N)), labels_N]
    return float(-np.log(np.maximum(true_N, PROBABILITY_FLOOR)).mean())


def pearson(x_N: Array, y_N: Array) -> float:
    """The correlation; 0 where one side does not vary."""
    # checked on the values: the mean of equal numbers can differ from them in the last bit
    if np.ptp(x_N) == 0 or np.ptp(y_N) == 0:
        return 0.0
    x_N, y_N = x_N.astype(float), y_N.astype(float)
    x_N, y_N = x_N - x_N.mean(), y_N - y_N.mean()
    return float((x_N * y_N).sum() / np.sqrt((x_N**2).sum() * (y_N**2).sum()))


def ranks(x_N: Array) -> Array:
    """Ranks from 0; equal values have the mean of their ranks."""
    _, group_N, size = np.unique(x_N, return_inverse=True, return_counts=True)
    first = np.cumsum(size) - size
    return np.asarray(first + (size - 1) / 2)[group_N]


def divide(top: Array, bottom: Array) -> Array:
    quotient: Array = np.divide(top, bottom, out=np.zeros_like(top, dtype=float), where=bottom > 0)
    return quotient


def direction(metric: str) -> int:
    """1 where higher is better, -1 where lower is better."""
    return -1 if metric in ("mse", "mae", "log_loss") else 1


def best_value(metric: str) -> float:
    """The score of predictions without any error."""
    return 1.0 if direction(metric) > 0 else 0.0
