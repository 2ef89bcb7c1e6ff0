"""Predictions of many models for the same rows -> one metric of each, on bootstrap resamples or with swapped rows.

Shape suffixes: N rows, R resamples, M models, P pairs of models, K numbers per row that are summed, F = M x K columns,
G groups of rows with equal predictions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from minbert.data.metrics import PROBABILITY_FLOOR, Array, divide

# how many numbers of the resamples are in memory at once: 16 MB
MAX_RESAMPLE_NUMBERS = 2**21
# the other metrics are for scores
CLASSIFICATION_METRICS = ("accuracy", "log_loss", "macro_f1", "f1", "precision", "recall")


def bootstrap_weights(rng: np.random.Generator, count: int, rows: int) -> Array:
    """How often each row is drawn in a bootstrap resample, R x N."""
    drawn = rng.integers(rows, size=(count, rows), dtype=np.int64) + rows * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows).astype(float)


class SummableMetric:
    """A metric that is a function of sums over rows: one matrix product covers all models and resamples."""

    def __init__(self, metric: str, predictions: Sequence[Array], labels_N: Array) -> None:
        self.metric = metric
        self.rows = len(labels_N)
        self.classes = predictions[0].shape[1] if metric in CLASSIFICATION_METRICS else 0
        terms = [row_terms(metric, each, labels_N) for each in predictions]
        # M x K columns
        self.terms_NF = sparse.hstack(terms, "csr") if sparse.issparse(terms[0]) else np.hstack(terms)
        self.models = len(predictions)
        self.total_MK = self.sums(np.ones((1, self.rows)))[0]
        self.width = max(self.rows, self.total_MK.size)

    def sums(self, weights_RN: Array) -> Array:
        return np.asarray(weights_RN @ self.terms_NF).reshape(len(weights_RN), self.models, -1)

    def resampled(self, weights_RN: Array) -> Array:
        """R x M values, with each row weighted by how often it was drawn."""
        return self.value(self.sums(weights_RN))

    def swapped(self, swaps_RN: Array, left_P: Array, right_P: Array) -> Array:
        """R x P differences of two models whose predictions are swapped in the marked rows (permutation test)."""
        moved_RMK = self.sums(swaps_RN)
        change_RPK = moved_RMK[:, right_P] - moved_RMK[:, left_P]
        return self.value(self.total_MK[left_P] + change_RPK) - self.value(self.total_MK[right_P] - change_RPK)

    def value(self, sums: Array) -> Array:
        if self.metric == "pearson":
            return pearson_from_sums(np.moveaxis(sums, -1, 0), self.rows)
        if self.metric in ("accuracy", "log_loss", "mse", "mae"):
            return np.asarray(sums[..., 0] / self.rows)
        predicted, hit, true = np.split(sums, 3, axis=-1)
        precision, recall = divide(hit, predicted), divide(hit, true)
        f1 = divide(2 * precision * recall, precision + recall)
        each = {"precision": precision, "recall": recall}.get(self.metric, f1)
        # a class that occurs in neither labels nor predictions does not count in a mean
        second = self.classes == 2 and self.metric != "macro_f1"
        return np.asarray(each[..., 1] if second else each.sum(-1) / (predicted + true > 0).sum(-1))


def row_terms(metric: str, predictions: Array, labels_N: Array) -> Any:
    """What each row adds to the sums that the metric is computed from, N x K."""
    rows_N, classes = np.arange(len(labels_N)), predictions.shape[-1]
    if metric == "pearson":
        # shifted by the same number for all models, so that their predictions can be swapped
        x_N, y_N = predictions - labels_N.mean(), labels_N - labels_N.mean()
        return np.stack([x_N, x_N**2, x_N * y_N, y_N, y_N**2], axis=1)
    if metric in ("mse", "mae"):
        return (np.abs(predictions - labels_N) ** (2 if metric == "mse" else 1))[:, None]
    if metric == "log_loss":
        return -np.log(np.maximum(predictions[rows_N, labels_N], PROBABILITY_FLOOR))[:, None]
    hits_N = predictions.argmax(1) == labels_N
    if metric == "accuracy":
        return hits_N[:, None].astype(float)
    if metric not in CLASSIFICATION_METRICS:
        raise ValueError(f"there is no metric '{metric}'")
    # predicted as C, correctly so, and truly C: at most three of 3C numbers are 1
    ones = sparse.csr_array((np.ones(len(rows_N)), (rows_N, predictions.argmax(1))), (len(rows_N), classes))
    true = sparse.csr_array((np.ones(len(rows_N)), (rows_N, labels_N)), (len(rows_N), classes))
    return sparse.hstack([ones, sparse.diags_array(hits_N.astype(float)) @ true, true])


def pearson_from_sums(sums: Array, n: float) -> Array:
    """Pearson's r from the sums of x, x^2, xy, y, y^2; 0 where x or y does not vary, up to rounding."""
    x, xx, xy, y, yy = sums
    x_part, y_part = xx - x**2 / n, yy - y**2 / n
    varies = (x_part > 1e-13 * xx) & (y_part > 1e-13 * yy)
    return np.where(varies, (xy - x * y / n) / np.sqrt(np.where(varies, x_part * y_part, 1)), 0.0)


class SpearmanMetric:
    """Spearman's correlation: ranks change with every resample. The rows are the first axis, which is faster."""

    def __init__(self, predictions: Sequence[Array], labels_N: Array) -> None:
        self.predictions, self.labels_N = predictions, labels_N
        self.width = 2 * len(labels_N)

    def resampled(self, weights_RN: Array) -> Array:
        w_NR = np.ascontiguousarray(weights_RN.T)
        y_NR = resampled_ranks(self.labels_N, w_NR)
        wy_NR, yy_R = w_NR * y_NR, (w_NR * y_NR**2).sum(0)
        return np.stack(
            [spearman_from_groups(yy_R, *sum_by_value(each, w_NR, wy_NR)) for each in self.predictions], axis=1
        )

    def swapped(self, swaps_RN: Array, left_P: Array, right_P: Array) -> Array:
        # twice the rows: those that a model keeps and those that it gets; the rest belong to its partner
        mine_NR, found = np.vstack([1 - swaps_RN.T, swaps_RN.T]), []
        y_N1 = np.tile(resampled_ranks(self.labels_N, np.ones((len(self.labels_N), 1))), (2, 1))
        yy = float((y_N1**2).sum() / 2)
        for i, j in zip(left_P, right_P, strict=True):
            both_N = np.concatenate([self.predictions[i], self.predictions[j]])
            w_GR, wy_GR = sum_by_value(both_N, mine_NR, mine_NR * y_N1)
            all_G1, all_y_G1 = sum_by_value(both_N, np.ones_like(y_N1), y_N1)
            found.append(
                spearman_from_groups(yy, w_GR, wy_GR) - spearman_from_groups(yy, all_G1 - w_GR, all_y_G1 - wy_GR)
            )
        return np.stack(found, axis=1)


def sum_by_value(x_N: Array, *numbers: Array) -> list[Array]:
    """Numbers of rows (N x R), summed over rows with equal x, in the order of x."""
    order_N = np.argsort(x_N, kind="stable")
    starts = np.flatnonzero(np.diff(x_N[order_N], prepend=-np.inf))
    return [np.add.reduceat(each[order_N], starts, axis=0) for each in numbers]


def centered_ranks(w_GR: Array) -> Array:
    """Ranks, with mean 0, of values that occur w times each; equal values share their mean rank."""
    return np.asarray(np.cumsum(w_GR, axis=0) - (w_GR + w_GR.sum(0)) / 2)


def resampled_ranks(x_N: Array, w_NR: Array) -> Array:
    return centered_ranks(*sum_by_value(x_N, w_NR))[np.unique(x_N, return_inverse=True)[1]]


def spearman_from_groups(yy: Array | float, w_GR: Array, wy_GR: Array) -> Array:
    """From the sum of squared label ranks, and for each predicted value its count and its sum of label ranks."""
    rank_GR = centered_ranks(w_GR)
    xx = (w_GR * rank_GR**2).sum(0) * yy
    return np.where(xx > 0, (rank_GR * wy_GR).sum(0) / np.sqrt(np.where(xx > 0, xx, 1)), 0.0)
