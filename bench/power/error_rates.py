"""Simulated comparisons -> error rates, coverage and power of three ways to test a difference.

All of them get Holm's correction over the table. The plain ones are what papers usually report: Student's t-test over
seeds, which takes the dev rows as given, and a bootstrap over rows of the mean over seeds, which takes the models as
given.

T tables, X differences of a table.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from bench.power.simulated import Design, simulate
from minbert.comparison.statistics import (
    SIGNIFICANCE_LEVEL,
    Evidence,
    PairedScores,
    group_by_measure,
    holm_correction,
    smallest_effect,
    uncertainties,
)
from minbert.data.metrics import Array

MINBERT, T_TEST, BOOTSTRAP = "minbert", "t-test over seeds", "bootstrap over rows"
METHODS = (MINBERT, T_TEST, BOOTSTRAP)
# simulated comparisons that the minimum detectable effect is averaged over
EFFECT_TABLES = 20


@dataclass(frozen=True)
class Rates:
    """One method on one design without a true effect, or with one in the last system."""

    # tables with a result for a system that does not differ
    family_wise_error: float
    # 95 % intervals that contain the true difference, by metric
    coverage: dict[str, float]
    # results of the last system that say "better" or "worse" as is true, by metric
    power: dict[str, float]


def error_rates(design: Design, tables: int, effects: dict[str, float], seed: int = 0) -> dict[str, Rates]:
    """`effects`: the size of the true difference of the last system, by metric; without one, no system differs.

    It is better in one half of the tables and worse in the other: a score that is closer to 1 varies less, so that an
    improvement is found more often than a loss of the same size.
    """
    rng = np.random.default_rng([seed, design.seeds, round(2 * design.ratio)])
    metrics = [metric for metric in design.measures for _ in range(design.systems - 1)]
    last = np.arange(len(metrics)) % (design.systems - 1) == design.systems - 2
    size_X = np.where(last, [effects.get(metric, 0.0) for metric in metrics], 0.0)
    found = {method: ([], [], []) for method in METHODS}  # type: dict[str, tuple[list[bool], list[Array], list[Array]]]
    for number in range(tables):
        sign = (-1) ** number
        table, true_X = simulate(rng, design, {name: sign * size for name, size in effects.items()}), sign * size_X
        value_X = np.array([each.value for each, _ in table])
        for method in METHODS:
            p_X = p_values_of(method, table, 0 * true_X)
            corrected_X = np.array(holm_correction(p_X.tolist()))
            wrong, inside, seen = found[method]
            wrong.append(bool((corrected_X[true_X == 0] < SIGNIFICANCE_LEVEL).any()))
            inside.append((p_values_of(method, table, true_X) if true_X.any() else p_X) > SIGNIFICANCE_LEVEL)
            seen.append((corrected_X < SIGNIFICANCE_LEVEL) & (value_X * true_X > 0))
    return {method: make_rates(metrics, last, *found[method]) for method in METHODS}


def make_rates(
    metrics: Sequence[str], last: Array, wrong: Sequence[bool], inside: Sequence[Array], seen: Sequence[Array]
) -> Rates:
    columns = {metric: np.array(metrics) == metric for metric in dict.fromkeys(metrics)}
    return Rates(
        float(np.mean(wrong)),
        {metric: float(np.mean(np.array(inside)[:, at])) for metric, at in columns.items()},
        {metric: float(np.mean(np.array(seen)[:, at & last])) for metric, at in columns.items()},
    )


def p_values_of(method: str, table: Sequence[tuple[Evidence, PairedScores]], true_X: Array) -> Array:
    """Of the hypothesis that the differences are these; a 95 % interval contains those with a p-value above .05."""
    distance = [each.value - true for (each, _), true in zip(table, true_X, strict=True)]
    if method == MINBERT:
        unsure = uncertainties([each for each, _ in table])
        return np.array([one.p_value(x) for one, x in zip(unsure, distance, strict=True)])
    if method == BOOTSTRAP:
        error_X = np.array([pairs.resampled_RP.mean(1).std(ddof=1) for _, pairs in table])
        return np.asarray(2 * special.ndtr(-np.abs(distance) / error_X))
    left, right = (np.array([getattr(each, side) for each, _ in table]) for side in ("left", "right"))
    with warnings.catch_warnings():
        # seeds that agree exactly
        warnings.simplefilter("ignore", RuntimeWarning)
        p_X = stats.ttest_ind(left - true_X[:, None], right, axis=1).pvalue
    return np.asarray(np.nan_to_num(p_X, nan=1.0))


def detectable_effects(design: Design, seed: int = 0) -> dict[str, float]:
    """The minimum detectable effect that comparisons of this design report, by metric: the mean over some of them."""
    rng, found = np.random.default_rng([seed, 1]), dict[str, list[float]]()
    for _ in range(EFFECT_TABLES):
        table = [each for each, _ in simulate(rng, design, {})]
        for measure, group in group_by_measure(table).items():
            found.setdefault(measure.split()[0], []).append(smallest_effect(group, len(table)))
    return {metric: float(np.mean(each)) for metric, each in found.items()}
