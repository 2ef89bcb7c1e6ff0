"""(seeds, how much they differ, a true effect) -> the predictions of systems whose true scores are known.

A prediction for a row depends on the row, on what the system makes of it, and on chance:

    e = a u_row + b v_row,system + c w_row,system,seed     with a^2 + b^2 + c^2 = 1

Each training run (a system with a seed) has a true score q of its own, over all rows that there are: the system's true
score plus the deviation of the seed. For accuracy, a row is right if Phi(e) < q. For Pearson's r, the score of a row is
q gold + sqrt(1 - q^2) e. So the true difference of two systems is known exactly, for accuracy and for Pearson.

N rows, K systems, S seeds.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from minbert.comparison.statistics import Evidence, PairedScores, difference_evidence, score_pairs
from minbert.data.metrics import Array

METRICS = ("accuracy", "pearson")
TRUE_SCORE = {"accuracy": 0.75, "pearson": 0.7}
# a^2, b^2, c^2: rows that are difficult for all, for one system, for one seed
ROW_PARTS = (0.6, 0.1, 0.3)
# of a seed; symmetric, so that the mean over seeds stays the true score
MOST_DEVIATION = 0.2
# rows that the error over rows is computed from, once
MANY_ROWS = 400_000

# how the standard deviation over seeds differs between systems
EQUAL, MIXED, HALF = "equal", "from half to one and a half", "every second one twice"


@dataclass(frozen=True)
class Design:
    """What is compared: systems, seeds and rows, on as many measures of each metric."""

    seeds: int = 3
    # the standard deviation of a score over seeds, relative to that of a difference over rows
    ratio: float = 2.0
    kind: str = EQUAL
    systems: int = 10
    rows: int = 1000
    measures: tuple[str, ...] = ("accuracy", "accuracy", "pearson", "pearson")
    resamples: int = 400


def row_noise(rng: np.random.Generator, rows: int, systems: int, seeds: int) -> Array:
    """e, K x S x N."""
    a, b, c = np.sqrt(ROW_PARTS)
    common_N = rng.standard_normal(rows, np.float32)
    own_K1N = rng.standard_normal((systems, 1, rows), np.float32)
    return np.asarray(a * common_N + b * own_K1N + c * rng.standard_normal((systems, seeds, rows), np.float32))


def seed_deviations(rng: np.random.Generator, design: Design, deviation: float) -> Array:
    """The deviation of each training run's true score from that of its system, K x S."""
    scale_K = np.full(design.systems, deviation)
    if design.kind == MIXED:
        scale_K *= rng.uniform(0.5, 1.5, design.systems)
    if design.kind == HALF:
        scale_K[1::2] *= 2
    drawn_KS = scale_K[:, None] * rng.standard_normal((design.systems, design.seeds))
    return np.clip(drawn_KS, -MOST_DEVIATION, MOST_DEVIATION)


@lru_cache
def row_deviation(metric: str) -> float:
    """The standard deviation, over one row, of the difference of two systems of many seeds: by N, it is divided by the
    root of N."""
    rng = np.random.default_rng(0)
    noise_22N, gold_N = row_noise(rng, MANY_ROWS, 2, 2), rng.standard_normal(MANY_ROWS)
    q = TRUE_SCORE[metric]
    if metric == "accuracy":
        influence = (noise_22N < special.ndtri(q)).astype(float)
    else:
        score_22N = q * gold_N + (1 - q * q) ** 0.5 * noise_22N
        influence = score_22N * gold_N - q / 2 * (score_22N**2 + gold_N**2)
    # what two seeds have in common
    return float(np.cov(*(influence[1] - influence[0]))[0, 1] ** 0.5)


def predictions(rng: np.random.Generator, metric: str, design: Design, true_K: Array) -> tuple[Array, list[Any]]:
    """Gold, and the predictions of all training runs, those of a system after another."""
    deviation = design.ratio * row_deviation(metric) / design.rows**0.5
    q_KS = true_K[:, None] + seed_deviations(rng, design, deviation)
    if not (np.abs(q_KS) < 1).all():
        raise ValueError(f"no {metric} can be {np.abs(q_KS).max():.2f}")
    noise_KSN = row_noise(rng, design.rows, design.systems, design.seeds)
    if metric == "accuracy":
        label_N = rng.integers(2, size=design.rows)
        right_KSN = noise_KSN < special.ndtri(q_KS)[..., None]
        labels = np.where(right_KSN, label_N, 1 - label_N).reshape(-1, design.rows)
        return label_N, [np.eye(2)[each] for each in labels]
    gold_N = rng.standard_normal(design.rows)
    scores = q_KS[..., None] * gold_N + np.sqrt(1 - q_KS**2)[..., None] * noise_KSN
    return gold_N, list(scores.reshape(-1, design.rows))


def true_scores(design: Design, metric: str, effect: float) -> Array:
    """All systems are equal, but for the last one."""
    true_K = np.full(design.systems, TRUE_SCORE[metric])
    true_K[-1] += effect
    return true_K


def simulate(
    rng: np.random.Generator, design: Design, effects: dict[str, float]
) -> list[tuple[Evidence, PairedScores]]:
    """One comparison, as `minbert compare` computes it: every system against the first, on every measure."""
    found = []
    places = [(k * design.seeds + s, s) for k in range(1, design.systems) for s in range(design.seeds)]
    for m, metric in enumerate(design.measures):
        gold, predicted = predictions(rng, metric, design, true_scores(design, metric, effects.get(metric, 0.0)))
        pairs = score_pairs(metric, gold, predicted, places, [int(rng.integers(2**32))], design.resamples)
        for k in range(design.systems - 1):
            one = pairs.take(range(k * design.seeds, (k + 1) * design.seeds))
            found.append((difference_evidence(one, True, f"{metric} {m}"), one))
    return found
