"""Answers of several trainings to the same dev rows -> differences, and how far each can be trusted.

Other seeds or other dev rows would give another score: both are samples. Judged by seeds alone, a fluke of these rows
is a finding; by rows alone (the usual bootstrap: Koehn 2004; on tests in NLP: Dror et al. 2018), one of these trainings
is. So differences are judged by both. With d_s the difference of seed s, n seeds, and Var, Cov over resampled rows:

    se^2 = max(var(d_s) / n, own) + shared      shared = mean Cov(d_s, d_t) over pairs of different seeds,
                                                own = (mean Var(d_s) - shared) / n

`shared` is what rows do to all seeds alike. What they do to each by itself is in var(d_s) already: adding all of
Var(mean of d_s) = own + shared would count it twice, and make a test at .05 one at .01 where seeds differ only row by
row. Few seeds can agree by chance, hence the max: se^2 is never below what rows alone make of it. Freedom is Welch's
and Satterthwaite's, the rows' part having no end of it: se^4 / ((var(d_s) / n)^2 / (n - 1)). With one seed there is
Var over rows alone, and the normal distribution.

Letters: N rows, R resamples, M models, P pairs of models, K numbers of a row that are added up, C classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from minbert.comparison.results import BETTER, NO_EVIDENCE, WORSE, ScoreDifference, Summary
from minbert.data.metrics import Array, classify_scores, direction, divide, regression_scores

RESAMPLES = 2000
# of what has to be ranked each time, which takes far longer
RANKED = 400
LEVEL = 0.05
POWER = 0.8
# numbers of a part of the resamples, 16 MB
AT_ONCE = 2**21
# metrics of classes; the others are of scores
OF_CLASSES = ("accuracy", "log_loss", "macro_f1", "f1", "precision", "recall")


def summarize(values: Mapping[int, float]) -> Summary:
    """Seed: value -> mean, standard deviation, and Student's 95 % interval of the mean over seeds."""
    found = np.array(list(values.values()))
    mean, n = float(found.mean()), len(found)
    if n < 2:
        return Summary(mean, None, None, None, dict(values))
    sd = float(found.std(ddof=1))
    half = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) * sd / n**0.5
    return Summary(mean, sd, mean - half, mean + half, dict(values))


# ---- a metric of many models on many resamples --------------------------------------------------------


class Summed:
    """A metric that is a function of sums over rows: one matrix product does all models and resamples."""

    def __init__(self, metric: str, answers: Sequence[Array], labels_N: Array) -> None:
        self.metric = metric
        self.rows = len(labels_N)
        self.classes = answers[0].shape[1] if metric in OF_CLASSES else 0
        numbers = [numbers_of(metric, each, labels_N) for each in answers]
        # M x K columns
        self.numbers_NF = sparse.hstack(numbers, "csr") if sparse.issparse(numbers[0]) else np.hstack(numbers)
        self.models = len(answers)
        self.total_MK = self.sums(np.ones((1, self.rows)))[0]
        self.width = max(self.rows, self.total_MK.size)

    def sums(self, weights_RN: Array) -> Array:
        return np.asarray(weights_RN @ self.numbers_NF).reshape(len(weights_RN), self.models, -1)

    def resampled(self, weights_RN: Array) -> Array:
        """R x M values, each row counted as often as it is drawn."""
        return self.value(self.sums(weights_RN))

    def swapped(self, swaps_RN: Array, left_P: Array, right_P: Array) -> Array:
        """R x P differences of two models that have exchanged their answers to the rows of a swap."""
        moved_RMK = self.sums(swaps_RN)
        gone_RPK = moved_RMK[:, right_P] - moved_RMK[:, left_P]
        return self.value(self.total_MK[left_P] + gone_RPK) - self.value(self.total_MK[right_P] - gone_RPK)

    def value(self, sums: Array) -> Array:
        if self.metric == "pearson":
            return correlation(np.moveaxis(sums, -1, 0), self.rows)
        if self.metric in ("accuracy", "log_loss", "mse", "mae"):
            return np.asarray(sums[..., 0] / self.rows)
        answered, hit, true = np.split(sums, 3, axis=-1)
        precision, recall = divide(hit, answered), divide(hit, true)
        f1 = divide(2 * precision * recall, precision + recall)
        each = {"precision": precision, "recall": recall}.get(self.metric, f1)
        # a class that neither labels nor answers show does not count in a mean
        second = self.classes == 2 and self.metric != "macro_f1"
        return np.asarray(each[..., 1] if second else each.sum(-1) / (answered + true > 0).sum(-1))


def numbers_of(metric: str, answers: Array, labels_N: Array) -> Any:
    """What a row adds to the sums of which the metric is made, N x K."""
    rows_N, classes = np.arange(len(labels_N)), answers.shape[-1]
    if metric == "pearson":
        # moved by the same number for all models, so that their answers can be exchanged
        x_N, y_N = answers - labels_N.mean(), labels_N - labels_N.mean()
        return np.stack([x_N, x_N**2, x_N * y_N, y_N, y_N**2], axis=1)
    if metric in ("mse", "mae"):
        return (np.abs(answers - labels_N) ** (2 if metric == "mse" else 1))[:, None]
    if metric == "log_loss":
        return -np.log(np.maximum(answers[rows_N, labels_N], 1e-12))[:, None]
    hits_N = answers.argmax(1) == labels_N
    if metric == "accuracy":
        return hits_N[:, None].astype(float)
    if metric not in OF_CLASSES:
        raise ValueError(f"there is no metric '{metric}'")
    # answered as C, rightly, and truly C: three of 3C numbers are 1
    ones = sparse.csr_array((np.ones(len(rows_N)), (rows_N, answers.argmax(1))), (len(rows_N), classes))
    true = sparse.csr_array((np.ones(len(rows_N)), (rows_N, labels_N)), (len(rows_N), classes))
    return sparse.hstack([ones, sparse.diags_array(hits_N.astype(float)) @ true, true])


def correlation(sums: Array, n: float) -> Array:
    """Pearson's r from sums of x, x^2, xy, y, y^2; 0 where one side does not vary, but for the last bits."""
    x, xx, xy, y, yy = sums
    x_part, y_part = xx - x**2 / n, yy - y**2 / n
    varies = (x_part > 1e-13 * xx) & (y_part > 1e-13 * yy)
    return np.where(varies, (xy - x * y / n) / np.sqrt(np.where(varies, x_part * y_part, 1)), 0.0)


class Ranked:
    """Spearman's correlation: ranks change with every resample, so each is ranked anew. Rows come first: faster."""

    def __init__(self, answers: Sequence[Array], labels_N: Array) -> None:
        self.answers, self.labels_N = answers, labels_N
        self.width = 2 * len(labels_N)

    def resampled(self, weights_RN: Array) -> Array:
        w_NR = np.ascontiguousarray(weights_RN.T)
        y_NR = ranks_of(self.labels_N, w_NR)
        wy_NR, yy_R = w_NR * y_NR, (w_NR * y_NR**2).sum(0)
        return np.stack([spearman(yy_R, *by_value(each, w_NR, wy_NR)) for each in self.answers], axis=1)

    def swapped(self, swaps_RN: Array, left_P: Array, right_P: Array) -> Array:
        # what a model keeps and what it gets: twice the rows, of which it has one half and its partner the other
        mine_NR, found = np.vstack([1 - swaps_RN.T, swaps_RN.T]), []
        y_N1 = np.tile(ranks_of(self.labels_N, np.ones((len(self.labels_N), 1))), (2, 1))
        yy = float((y_N1**2).sum() / 2)
        for i, j in zip(left_P, right_P, strict=True):
            both_N = np.concatenate([self.answers[i], self.answers[j]])
            w_GR, wy_GR = by_value(both_N, mine_NR, mine_NR * y_N1)
            all_G1, all_y_G1 = by_value(both_N, np.ones_like(y_N1), y_N1)
            found.append(spearman(yy, w_GR, wy_GR) - spearman(yy, all_G1 - w_GR, all_y_G1 - wy_GR))
        return np.stack(found, axis=1)


def by_value(x_N: Array, *numbers: Array) -> list[Array]:
    """Numbers of rows (N x R) summed over those of equal x, in the order of x."""
    order_N = np.argsort(x_N, kind="stable")
    starts = np.flatnonzero(np.diff(x_N[order_N], prepend=-np.inf))
    return [np.add.reduceat(each[order_N], starts, axis=0) for each in numbers]


def ranks(w_GR: Array) -> Array:
    """Ranks of values that so many rows have, their mean being 0; equal rows share the mean of theirs."""
    return np.asarray(np.cumsum(w_GR, axis=0) - (w_GR + w_GR.sum(0)) / 2)


def ranks_of(x_N: Array, w_NR: Array) -> Array:
    return ranks(*by_value(x_N, w_NR))[np.unique(x_N, return_inverse=True)[1]]


def spearman(yy: Array | float, w_GR: Array, wy_GR: Array) -> Array:
    """From the sum of squares of all labels' ranks, how many rows have a value, and the sum of their labels' ranks."""
    rank_GR = ranks(w_GR)
    xx = (w_GR * rank_GR**2).sum(0) * yy
    return np.where(xx > 0, (rank_GR * wy_GR).sum(0) / np.sqrt(np.where(xx > 0, xx, 1)), 0.0)


# ---- pairs of models ----------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """Pairs of models on one measure, more being better: as they are, with rows drawn anew, with rows exchanged."""

    left_P: Array
    right_P: Array
    resampled_RP: Array
    swapped_RP: Array

    def take(self, columns: Sequence[int]) -> "Pairs":
        return Pairs(*(each[..., list(columns)] for each in self))


def add_up(weighted: Sequence[tuple[float, Pairs]], constant: float = 0.0) -> Pairs:
    """A constant and a weighted sum of measures, as a measure; of as many resamples as all of them have."""
    least = min(len(pairs.resampled_RP) for _, pairs in weighted)
    cut = [(weight, (*pairs[:2], *(each[:least] for each in pairs[2:]))) for weight, pairs in weighted]
    left_P, right_P, *resamples = (np.asarray(sum(weight * each[i] for weight, each in cut)) for i in range(4))
    return Pairs(constant + left_P, constant + right_P, *resamples)


def pair_up(
    metric: str,
    labels_N: Array,
    answers: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    seed: Sequence[int],
    resamples: int | None = None,
) -> Pairs:
    """Pairs of models, by their numbers, on the very same rows. All of them see the same resamples."""
    left_P, right_P = (np.array([pair[side] for pair in pairs], dtype=int) for side in (0, 1))
    score = classify_scores if metric in OF_CLASSES else regression_scores
    values_M = np.array([score(each, labels_N)[metric] for each in answers])
    table = Ranked(answers, labels_N) if metric == "spearman" else Summed(metric, answers, labels_N)
    # a generator each: the resamples do not depend on how many fit in memory
    (rows, swaps), drawn, exchanged = np.random.default_rng(list(seed)).spawn(2), [], []
    resamples = resamples or (RANKED if metric == "spearman" else RESAMPLES)
    most = max(1, AT_ONCE // table.width)
    for start in range(0, resamples, most):
        count = min(most, resamples - start)
        values_RM = table.resampled(draw_rows(rows, count, len(labels_N)))
        drawn.append(values_RM[:, left_P] - values_RM[:, right_P])
        swaps_RN = (swaps.random((count, len(labels_N)), np.float32) < 0.5).astype(float)
        exchanged.append(table.swapped(swaps_RN, left_P, right_P))
    found = Pairs(values_M[left_P], values_M[right_P], np.concatenate(drawn), np.concatenate(exchanged))
    return add_up([(direction(metric), found)])


def draw_rows(rng: np.random.Generator, count: int, rows: int) -> Array:
    """How often each row is in a sample of as many rows, drawn with replacement."""
    drawn = rng.integers(rows, size=(count, rows), dtype=np.int64) + rows * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows).astype(float)


# ---- a difference, and what it is beside the others ---------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """A difference as it is by itself: `judged` says what it is worth among all that were tested."""

    value: float
    # of new seeds and new rows
    error: float
    freedom: float
    p: float
    p_rows: float
    effect: float | None
    errors_removed: float | None
    seeds: int


def evidence(pairs: Pairs, best_is_one: bool) -> Evidence:
    """The pairs of two recipes, one a seed, as one difference."""
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
    # equal but for the last bits counts as equal
    as_far = np.abs(pairs.swapped_RP.mean(1)) >= abs(value) - 1e-12
    p_rows = float((1 + as_far.sum()) / (1 + len(as_far)))
    missed = 1 - float(pairs.right_P.mean()) if best_is_one else 0.0
    effect, removed = value / pooled if pooled > 1e-12 else None, value / missed if missed else None
    return Evidence(value, error, freedom, p, p_rows, effect, removed, n)


def judged(found: Sequence[Evidence]) -> list[ScoreDifference]:
    """All differences that are tested together.

    `smallest` has POWER at the level that Holm asks of the first, LEVEL / how many (why to say so: Card et al. 2020).
    """
    differences = []
    for each, corrected in zip(found, holm([each.p for each in found]), strict=True):
        usual, strict = (float(stats.t.ppf(1 - LEVEL / 2 / many, each.freedom)) for many in (1, len(found)))
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
            result=NO_EVIDENCE if corrected >= LEVEL else BETTER if each.value > 0 else WORSE,
            seeds=each.seeds,
        )
        differences.append(difference)
    return differences


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction (1979): the smallest p times their number, the next times one fewer, never falling."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1, np.arange(len(p), 0, -1) * np.asarray(p)[order]))
    return [float(each) for each in corrected]
