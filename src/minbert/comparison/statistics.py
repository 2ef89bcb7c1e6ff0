"""Predictions of several runs for the same dev rows -> differences between recipes, and how certain each one is.

Other seeds or other dev rows would give another score: both are samples. A test over seeds alone would accept a
difference that is due to these particular rows; a test over rows alone (the usual bootstrap: Koehn 2004; on tests in
NLP: Dror et al. 2018) would accept one that is due to these particular runs. So both count here. Let d_s be the
difference of seed s, n the number of seeds, and Var and Cov the variance and covariance over bootstrap resamples of
the rows:

    se^2 = max(var(d_s) / n, own) + shared      shared = mean Cov(d_s, d_t) over pairs of different seeds,
                                                own = (mean Var(d_s) - shared) / n

`shared` is the effect of the rows that all seeds have in common. Their effect on each seed alone is part of var(d_s)
already: adding all of Var(mean of d_s) = own + shared would count it twice, and turn a test at .05 into one at .01
where seeds differ only row by row. A few seeds can agree by chance, hence the max: se^2 is never below the variance
over rows alone. The degrees of freedom follow Welch and Satterthwaite, with infinitely many for the rows:
se^4 / ((var(d_s) / n)^2 / (n - 1)). With one seed there is only the variance over rows, and the normal distribution.

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
    """A difference by itself; `judge_differences` corrects it for all that are tested together."""

    value: float
    # standard error over seeds and rows
    error: float
    # degrees of freedom
    freedom: float
    p: float
    p_rows: float
    effect: float | None
    errors_removed: float | None
    seeds: int


def difference_evidence(pairs: PairedScores, best_is_one: bool) -> Evidence:
    """The pairs of two recipes, one pair per seed, as one difference."""
    d_S = pairs.left_P - pairs.right_P
    value, n = float(d_S.mean()), len(d_S)
    variance, freedom, pooled = float(pairs.resampled_RP.mean(1).var(ddof=1)), float("inf"), 0.0
    if n > 1:
        own = max(0.0, (float(pairs.resampled_RP.var(0, ddof=1).mean()) - variance) / (n - 1))
        seeds = float(d_S.var(ddof=1)) / n
        variance = max(seeds, own) + max(0.0, variance - own)
        freedom = variance**2 / (seeds**2 / (n - 1)) if seeds else freedom
        pooled = float((pairs.left_P.var(ddof=1) + pairs.right_P.var(ddof=1)) / 2) ** 0.5
    error = variance**0.5
    p = float(2 * stats.t.sf(abs(value) / error, freedom)) if error else float(not value)
    # equal up to rounding counts as equal
    as_far = np.abs(pairs.swapped_RP.mean(1)) >= abs(value) - 1e-12
    p_rows = float((1 + as_far.sum()) / (1 + len(as_far)))
    missed = 1 - float(pairs.right_P.mean()) if best_is_one else 0.0
    effect, removed = value / pooled if pooled > 1e-12 else None, value / missed if missed else None
    return Evidence(value, error, freedom, p, p_rows, effect, removed, n)


def judge_differences(found: Sequence[Evidence]) -> list[ScoreDifference]:
    """All differences that are tested together, with Holm's correction.

    The minimum detectable effect has a power of POWER at the level of Holm's first step, SIGNIFICANCE_LEVEL divided by
    the number of tests (why it should be reported: Card et al. 2020).
    """
    differences = []
    for each, corrected in zip(found, holm_correction([each.p for each in found]), strict=True):
        usual, strict = (
            float(stats.t.ppf(1 - SIGNIFICANCE_LEVEL / 2 / many, each.freedom)) for many in (1, len(found))
        )
        power = float(stats.t.ppf(POWER, each.freedom))
        difference = ScoreDifference(
            value=each.value,
            low=each.value - usual * each.error,
            high=each.value + usual * each.error,
            p=each.p,
            corrected=corrected,
            p_rows=each.p_rows,
            minimum_detectable_effect=(strict + power) * each.error,
            effect=each.effect,
            errors_removed=each.errors_removed,
            result=NO_EVIDENCE if corrected >= SIGNIFICANCE_LEVEL else BETTER if each.value > 0 else WORSE,
            seeds=each.seeds,
        )
        differences.append(difference)
    return differences


def holm_correction(p: Sequence[float]) -> list[float]:
    """Holm (1979): the smallest p times the number of tests, the next times one less, and so on, never decreasing."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1, np.arange(len(p), 0, -1) * np.asarray(p)[order]))
    return [float(each) for each in corrected]
