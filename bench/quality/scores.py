"""Gold labels and predictions of several seeds -> scores with 95 % intervals.

An interval covers two sources of chance: which dev rows there are, and which seed was drawn. Each of `ROUNDS` rounds
draws dev rows with replacement and, independently, seeds with replacement, and takes the mean score of these seeds on
these rows; the interval holds the middle 95 % of the rounds (percentile bootstrap; Efron and Tibshirani 1993). All
systems share the rows of a round, so a difference of two systems is paired.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.quality.sets import Cut

Numbers = npt.NDArray[np.float64]
ROUNDS = 2000
# what a weighted score gets: how often each row counts (B x N), gold labels and predictions (N)
Score = Callable[[Numbers, Any, Any, str], Numbers]


def accuracy(weights: Numbers, gold: Any, found: Any, positive: str) -> Numbers:
    return ratio(weights @ (gold == found), weights.sum(1))


def f1(weights: Numbers, gold: Any, found: Any, positive: str) -> Numbers:
    both = weights @ ((gold == positive) & (found == positive))
    return ratio(2 * both, weights @ (gold == positive) + weights @ (found == positive))


def matthews(weights: Numbers, gold: Any, found: Any, positive: str) -> Numbers:
    """The correlation of two yes-or-no answers is the Matthews correlation."""
    return pearson(weights, (gold == positive).astype(float), (found == positive).astype(float), positive)


def pearson(weights: Numbers, gold: Any, found: Any, positive: str) -> Numbers:
    total = weights.sum(1)
    # of deviations from the mean, because large means would cost digits
    x, y = gold - gold.mean(), found - found.mean()
    mean_x, mean_y = weights @ x / total, weights @ y / total
    cross = weights @ (x * y) / total - mean_x * mean_y
    spread = (weights @ (x * x) / total - mean_x**2) * (weights @ (y * y) / total - mean_y**2)
    return ratio(cross, np.sqrt(np.maximum(spread, 0)))


def ratio(above: Any, below: Any) -> Numbers:
    """Zero where nothing can be said, as for the correlation with a constant."""
    above, below = np.asarray(above, float), np.asarray(below, float)
    return np.where(below > 1e-12, above / np.where(below > 1e-12, below, 1), 0.0)


METRICS: dict[str, Score] = {"accuracy": accuracy, "f1": f1, "matthews": matthews, "pearson": pearson}


def score(cut: Cut, metric: str, found: Sequence[Any]) -> float:
    """One score on the dev rows as they are."""
    return float(rounds_of(cut, metric, found, np.ones((1, len(cut.gold))))[0])


def rounds_of(cut: Cut, metric: str, found: Sequence[Any], weights: Numbers) -> Numbers:
    kind = float if cut.set.scored else str
    return METRICS[metric](weights, np.array(cut.gold, kind), np.array(found, kind), cut.set.positive)


def drawn_rows(cut: Cut) -> Numbers:
    """How often each dev row counts in each round; the same for all systems."""
    count = len(cut.gold)
    random = np.random.default_rng(zlib.crc32(cut.name.encode()))
    return random.multinomial(count, np.full(count, 1 / count), size=ROUNDS).astype(float)


def drawn_seeds(system: str, name: str, seeds: int) -> Numbers:
    """The weight of each seed in each round."""
    random = np.random.default_rng(zlib.crc32(f"{system} {name}".encode()))
    return random.multinomial(seeds, np.full(seeds, 1 / seeds), size=ROUNDS) / seeds


def resampled(cut: Cut, metric: str, system: str, predictions: Sequence[Sequence[Any]]) -> Numbers:
    """The score of a system in each round, from its predictions with each seed."""
    weights = drawn_rows(cut)
    each = np.stack([rounds_of(cut, metric, found, weights) for found in predictions], axis=1)
    return np.asarray((each * drawn_seeds(system, cut.name, len(predictions))).sum(1))


def interval(rounds: Numbers) -> tuple[float, float]:
    low, high = np.percentile(rounds, [2.5, 97.5])
    return float(low), float(high)
