"""The score on a sample of rows -> its 95 % confidence interval."""

import math

import numpy as np

from minbert.config.task import Task
from minbert.data.metrics import Array, score

# the 97.5th percentile of the normal distribution
Z_95 = 1.959963984540054
INTERVAL_RESAMPLES = 400


def interval_of(task: Task, predictions: Array, labels: Array) -> tuple[float, float]:
    """Of the task's main metric: Wilson's for accuracy, Fisher's for Pearson's r, else the percentile bootstrap."""
    if task.metric == "accuracy":
        return wilson_interval(round(score(task, predictions, labels)["accuracy"] * len(labels)), len(labels))
    if task.metric == "pearson" and len(labels) > 3:
        return fisher_interval(score(task, predictions, labels)["pearson"], len(labels))
    generator = np.random.default_rng(0)
    drawn = (generator.integers(0, len(labels), len(labels)) for _ in range(INTERVAL_RESAMPLES))
    found = [score(task, predictions[rows], labels[rows])[task.metric] for rows in drawn]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def wilson_interval(hits: int, rows: int) -> tuple[float, float]:
    """Wilson 1927: unlike the normal approximation it stays within 0 and 1, and never has zero width."""
    fraction, weight = hits / rows, Z_95**2 / rows
    middle = (fraction + weight / 2) / (1 + weight)
    half = math.sqrt(fraction * (1 - fraction) * weight + weight**2 / 4) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)


def fisher_interval(r: float, rows: int) -> tuple[float, float]:
    """Fisher 1921: atanh(r) is close to normal with a standard error of 1 / sqrt(n - 3)."""
    middle, half = math.atanh(min(max(r, -0.999999), 0.999999)), Z_95 / math.sqrt(rows - 3)
    return math.tanh(middle - half), math.tanh(middle + half)
