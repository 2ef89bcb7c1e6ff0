"""Scores and gold -> where on the range a model errs, and which way.

N rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minbert.config.task import Task
from minbert.data.metrics import Array

# more points than this say no more on a page
MOST_POINTS = 2000
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Fifth:
    """The rows whose gold score lies in a fifth of the range."""

    low: float
    high: float
    rows: int
    # mean of answer - gold: above 0, the model says too much; None without rows
    bias: float | None
    mae: float | None


@dataclass(frozen=True)
class Regression:
    # (gold, answer), the lowest gold first; evenly thinned where there are too many
    points: tuple[tuple[float, float], ...]
    fifths: tuple[Fifth, ...]
    # of answer - gold
    bias: float
    quantiles: Mapping[float, float]
    # spread of the answers over that of gold: below 1, the model keeps to the middle
    spread: float | None


def analyze_scores(task: Task, scores_N: Array, labels_N: Array) -> Regression:
    error_N = scores_N - labels_N
    deviation = float(labels_N.std())
    return Regression(
        points=thinned(scores_N, labels_N),
        fifths=by_fifth(task, error_N, labels_N),
        bias=float(error_N.mean()),
        quantiles=dict(zip(QUANTILES, np.quantile(error_N, QUANTILES).tolist(), strict=True)),
        spread=float(scores_N.std()) / deviation if deviation > 0 else None,
    )


def fifth_of(task: Task, labels_N: Array) -> tuple[Array, Array]:
    """Which fifth of the range each score lies in, 0 to 4, and the six edges; the top belongs to the last."""
    edges = np.linspace(task.range[0], task.range[1], 6)
    return np.clip(np.searchsorted(edges, labels_N, side="right") - 1, 0, 4), edges


def by_fifth(task: Task, error_N: Array, labels_N: Array) -> tuple[Fifth, ...]:
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


def thinned(scores_N: Array, labels_N: Array) -> tuple[tuple[float, float], ...]:
    order = np.lexsort((scores_N, labels_N))
    if len(order) > MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(int)]
    return tuple(zip(labels_N[order].tolist(), scores_N[order].tolist(), strict=True))
