"""Predictions of several runs for the same dev rows -> differences between recipes, and how certain each one is.

Other seeds or other dev rows would give another score: both are samples. A test over seeds alone would accept a
difference that is due to these particular rows; a test over rows alone (the usual bootstrap: Koehn 2004; on tests in
NLP: Dror et al. 2018) would accept one that is due to these particular runs. So both count here.

**Rows.** Let d_s be the difference of seed s, n the number of seeds, and Var and Cov the variance and covariance over
bootstrap resamples of the rows: shared = mean Cov(d_s, d_t) over pairs of different seeds is the effect of the rows
that all seeds have in common, and own = (mean Var(d_s) - shared) / n their effect on each seed alone. The latter is
part of what seeds do: adding it once more would turn a test at .05 into one at .01 where seeds differ only row by row.

**Seeds.** The variance of a score over n seeds has n - 1 degrees of freedom: of two or three seeds it says little, and
by chance it is often far too small. The systems of one comparison are trained in similar ways, so their variances on
one measure are pooled over all K systems, which gives K (n - 1) degrees of freedom. A system whose seeds differ more
keeps its own variance: each counts with max(own, pooled), and the difference of two with the sum of both, divided by n.

`uncertainty.py` turns both variances into p-values and intervals. With one seed of every system there is only the
variance over rows, and the normal distribution.

Shape suffixes: N rows, R resamples, M models, P pairs of models, S seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from minbert.comparison.resampling import (
    CLASSIFICATION_METRICS,
    MAX_RESAMPLE_NUMBERS,
    SpearmanMetric,
    SummableMetric,
    bootstrap_weights,
)
from minbert.comparison.results import BETTER, NO_EVIDENCE, WORSE, ScoreDifference, Summary
from minbert.comparison.uncertainty import Uncertainty, minimum_detectable_effect
from minbert.data.metrics import Array, classify_scores, direction, regression_scores

BOOTSTRAP_RESAMPLES = 2000
# fewer, because ranking every resample takes far longer
SPEARMAN_RESAMPLES = 400
SIGNIFICANCE_LEVEL = 0.05
POWER = 0.8


def summarize(values: Mapping[int, float]) -> Summary:
    """{seed: value} -> mean, standard deviation, and the 95 % interval of the mean over seeds (Student's t)."""
    found = np.array(list(values.values()))
    mean, n = float(found.mean()), len(found)
    if n < 2:
        return Summary(mean, None, None, None, dict(values))
    sd = float(found.std(ddof=1))
    half = float(stats.t.ppf(1 - SIGNIFICANCE_LEVEL / 2, n - 1)) * sd / n**0.5
    return Summary(mean, sd, mean - half, mean + half, dict(values))


# ---- pairs of models ----------------------------------------------------------------------------------


class PairedScores(NamedTuple):
    """Pairs of models on one measure, where more is better: scores, bootstrap and permutation differences."""

    left_P: Array
    right_P: Array
    resampled_RP: Array
    swapped_RP: Array

    def take(self, columns: Sequence[int]) -> "PairedScores":
        return PairedScores(*(each[..., list(columns)] for each in self))


def weighted_sum(weighted: Sequence[tuple[float, PairedScores]], constant: float = 0.0) -> PairedScores:
    """A constant plus a weighted sum of measures, as one measure, with as many resamples as all of them have."""
    least = min(len(pairs.resampled_RP) for _, pairs in weighted)
    equal = [(weight, (*pairs[:2], *(each[:least] for each in pairs[2:]))) for weight, pairs in weighted]
    left_P, right_P, *resamples = (np.asarray(sum(weight * each[i] for weight, each in equal)) for i in range(4))
    return PairedScores(constant + left_P, constant + right_P, *resamples)


def score_pairs(
    metric: str,
    labels_N: Array,
    predictions: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    seed: Sequence[int],
    resamples: int | None = None,
) -> PairedScores:
    """Pairs of models, given by their numbers, on the same rows. All of them see the same resamples."""
    left_P, right_P = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    score = classify_scores if metric in CLASSIFICATION_METRICS else regression_scores
    values_M = np.array([score(each, labels_N)[metric] for each in predictions])
    table = (
        SpearmanMetric(predictions, labels_N) if metric == "spearman" else SummableMetric(metric, predictions, labels_N)
    )
    # two generators: the resamples do not depend on how many fit into memory
    (rows, swaps), bootstrapped, permuted = np.random.default_rng(list(seed)).spawn(2), [], []
    resamples = resamples or (SPEARMAN_RESAMPLES if metric == "spearman" else BOOTSTRAP_RESAMPLES)
    most = max(1, MAX_RESAMPLE_NUMBERS // table.width)
    for start in range(0, resamples, most):
        count = min(most, resamples - start)
        values_RM = table.resampled(bootstrap_weights(rows, count, len(labels_N)))
        bootstrapped.append(values_RM[:, left_P] - values_RM[:, right_P])
        swaps_RN = (swaps.random((count, len(labels_N)), np.float32) < 0.5).astype(float)
        permuted.append(table.swapped(swaps_RN, left_P, right_P))
    found = PairedScores(values_M[left_P], values_M[right_P], np.concatenate(bootstrapped), np.concatenate(permuted))
    return weighted_sum([(direction(metric), found)])


# ---- a difference, alone and among others -------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """A difference by itself; `judge_differences` tests it together with others."""

    measure: str
    # the scores of the two systems by seed; more is better
    left: tuple[float, ...]
    right: tuple[float, ...]
    # variance over dev rows that all seeds have in common, and that of the mean over seeds from each seed alone
    rows: float
    own: float
    p_rows: float
    effect: float | None
    errors_removed: float | None
    # whether the right side is the same for every seed, because nothing of it is trained
    fixed: bool = False

    @property
    def varying(self) -> tuple[tuple[float, ...], ...]:
        """The sides that another seed would change."""
        return (self.left,) if self.fixed else (self.left, self.right)

    @property
    def seeds(self) -> int:
        return len(self.left)

    @property
    def value(self) -> float:
        return float(np.mean(self.left) - np.mean(self.right))


def difference_evidence(pairs: PairedScores, best_is_one: bool, measure: str = "") -> Evidence:
    """The pairs of two recipes, one pair per seed, as one difference."""
    n = len(pairs.left_P)
    value = float((pairs.left_P - pairs.right_P).mean())
    rows, own, spread = float(pairs.resampled_RP.mean(1).var(ddof=1)), 0.0, 0.0
    if n > 1:
        own = max(0.0, (float(pairs.resampled_RP.var(0, ddof=1).mean()) - rows) / (n - 1))
        rows = max(0.0, rows - own)
        spread = float((pairs.left_P.var(ddof=1) + pairs.right_P.var(ddof=1)) / 2) ** 0.5
    # equal up to rounding counts as equal
    as_far = np.abs(pairs.swapped_RP.mean(1)) >= abs(value) - 1e-12
    p_rows = float((1 + as_far.sum()) / (1 + len(as_far)))
    missed = 1 - float(pairs.right_P.mean()) if best_is_one else 0.0
    effect, removed = value / spread if spread > 1e-12 else None, value / missed if missed else None
    return Evidence(
        measure, tuple(pairs.left_P.tolist()), tuple(pairs.right_P.tolist()), rows, own, p_rows, effect, removed
    )


@dataclass(frozen=True)
class PooledVariance:
    """The variance of a score over seeds on one measure, over all systems that are compared."""

    value: float
    systems: int
    freedom: int
    # the most seeds of a system
    seeds: int

    def uncertainty(self, found: Evidence) -> Uncertainty:
        """What is not known about a difference: the larger of own and pooled variance of each system."""
        each = [max(self.value, own_variance(side)) for side in found.varying]
        return Uncertainty(max(sum(each) / found.seeds, found.own), self.freedom, found.rows)


def own_variance(scores: Sequence[float]) -> float:
    return float(np.var(scores, ddof=1)) if len(scores) > 1 else 0.0


def pool_variance(found: Sequence[Evidence]) -> PooledVariance:
    """Of differences on one measure. A system that is part of several differences, as the baseline is, counts once."""
    systems = list(dict.fromkeys(side for each in found for side in each.varying))
    freedom = sum(len(side) - 1 for side in systems)
    total = sum(own_variance(side) * (len(side) - 1) for side in systems)
    value = total / freedom if freedom else 0.0
    return PooledVariance(value, len(systems), freedom, max(len(side) for side in systems))


def group_by_measure(found: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    groups: dict[str, list[Evidence]] = {}
    for each in found:
        groups.setdefault(each.measure, []).append(each)
    return groups


def uncertainties(found: Sequence[Evidence]) -> list[Uncertainty]:
    """Of each difference, with variances pooled over all that are on the same measure."""
    pools = {measure: pool_variance(group) for measure, group in group_by_measure(found).items()}
    return [pools[each.measure].uncertainty(each) for each in found]


def judge_differences(found: Sequence[Evidence]) -> list[ScoreDifference]:
    """All differences that are tested together, with Holm's correction.

    The corrected interval has the level at which Holm's correction tests this difference, so it excludes 0 if and only
    if the result says better or worse.
    """
    groups = group_by_measure(found)
    smallest = {name: smallest_effect(group, len(found)) for name, group in groups.items()}
    unsure = uncertainties(found)
    p = [one.p_value(each.value) for one, each in zip(unsure, found, strict=True)]
    differences = []
    for each, one, alone, corrected in zip(found, unsure, p, holm_correction(p), strict=True):
        usual = one.half_width(SIGNIFICANCE_LEVEL)
        # a p-value of 0 has no ratio to its correction
        strict = max(usual, one.half_width(SIGNIFICANCE_LEVEL * (alone / corrected if alone else 1 / len(found))))
        differences.append(
            ScoreDifference(
                value=each.value,
                low=each.value - usual,
                high=each.value + usual,
                corrected_low=each.value - strict,
                corrected_high=each.value + strict,
                p=alone,
                corrected=corrected,
                p_rows=each.p_rows,
                minimum_detectable_effect=smallest[each.measure],
                effect=each.effect,
                errors_removed=each.errors_removed,
                result=NO_EVIDENCE if corrected >= SIGNIFICANCE_LEVEL else BETTER if each.value > 0 else WORSE,
                seeds=each.seeds,
            )
        )
    return differences


def smallest_effect(found: Sequence[Evidence], tests: int) -> float:
    """The minimum detectable effect on a measure, at the level of Holm's first step (Card et al. 2020)."""
    pool = pool_variance(found)
    rows, own = (float(np.mean([getattr(each, name) for each in found])) for name in ("rows", "own"))
    level, sides = SIGNIFICANCE_LEVEL / tests, max(len(each.varying) for each in found)
    return minimum_detectable_effect(pool.value, (sides, pool.systems), pool.seeds, rows, own, level, POWER)


def holm_correction(p: Sequence[float]) -> list[float]:
    """Holm (1979): the smallest p times the number of tests, the next times one less, and so on, never decreasing."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1, np.arange(len(p), 0, -1) * np.asarray(p)[order]))
    return [float(each) for each in corrected]
