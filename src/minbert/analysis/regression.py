"""Predicted and gold scores -> where in the range a model is wrong, and in which direction.

N rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minbert.config.task import Task
from minbert.data.metrics import Array

# more points than this show nothing more on a page
MOST_POINTS = 2000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Fifth:
    """The rows whose gold score lies in one fifth of the range."""

    low: float
    high: float
    rows: int
    # mean of prediction - gold: positive means that the model predicts too high; None without rows
    bias: float | None
    mae: float | None


@dataclass(frozen=True)
class RegressionAnalysis:
    # (gold, prediction), sorted by gold; thinned evenly if there are too many
    points: tuple[tuple[float, float], ...]
    fifths: tuple[Fifth, ...]
    # of prediction - gold
    bias: float
    quantiles: Mapping[float, float]
    # standard deviation of the predictions divided by that of gold: below 1, predictions stay near the middle
    spread_ratio: float | None


def analyze_regression(task: Task, scores_N: Array, labels_N: Array) -> RegressionAnalysis:
    error_N = scores_N - labels_N
    deviation = float(labels_N.std())
    return RegressionAnalysis(
        points=thin_points(scores_N, labels_N),
        fifths=errors_by_fifth(task, error_N, labels_N),
        bias=float(error_N.mean()),
        quantiles=dict(zip(QUANTILES, np.quantile(error_N, QUANTILES).tolist(), strict=True)),
        spread_ratio=float(scores_N.std()) / deviation if deviation > 0 else None,
    )


def fifth_of(task: Task, labels_N: Array) -> tuple[Array, Array]:
    """The fifth of the range in which each score lies, 0 to 4, and the six edges; the last fifth includes the top."""
    edges = np.linspace(task.range[0], task.range[1], 6)
    return np.clip(np.searchsorted(edges, labels_N, side="right") - 1, 0, 4), edges


def errors_by_fifth(task: Task, error_N: Array, labels_N: Array) -> tuple[Fifth, ...]:
    fifth_N, edges = fifth_of(task, labels_N)
    errors = [error_N[fifth_N == i] for i in range(5)]
    return tuple(
        Fifth(
            float(edges[i]),
            float(edges[i + 1]),
            len(error),
            float(error.mean()) if len(error) else None,
            float(np.abs(error).mean()) if len(error) else None,
        )
        for i, error in enumerate(errors)
    )


def thin_points(scores_N: Array, labels_N: Array) -> tuple[tuple[float, float], ...]:
    order = np.lexsort((scores_N, labels_N))
    if len(order) > MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(int)]
    return tuple(zip(labels_N[order].tolist(), scores_N[order].tolist(), strict=True))
