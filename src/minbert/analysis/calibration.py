"""Probabilities and labels -> whether a model is as sure as it is right.

N rows, C classes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from minbert.data.metrics import PROBABILITY_FLOOR, Array, log_loss

BINS = 10
# temperatures beyond these mean that none mends anything: all answers right, or no better than a guess
COLDEST, HOTTEST = 1 / 20, 20.0


@dataclass(frozen=True)
class Bin:
    """The rows whose answer has a probability from `low` up to `high`."""

    low: float
    high: float
    rows: int
    # the mean probability of the answers, and the share of right ones; None without rows
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Calibration:
    bins: tuple[Bin, ...]
    # expected calibration error: |accuracy - confidence|, averaged over rows (Naeini et al. 2015)
    ece: float
    # squared distance of the probabilities from the truth, summed over all labels (Brier 1950): 0 to 2
    brier: float
    # mean confidence minus accuracy: above 0 is too sure
    excess: float
    # what the logits should be divided by (Guo et al. 2017), chosen on these very rows; above 1: too sure.
    # None: nothing between 1/20 and 20 is best
    temperature: float | None
    # with that temperature
    mended_ece: float | None
    log_loss: float
    mended_log_loss: float | None


def calibrate(probabilities_NC: Array, labels_N: Array) -> Calibration:
    probabilities_NC = np.maximum(probabilities_NC.astype(float), PROBABILITY_FLOOR)
    bins = reliability(probabilities_NC, labels_N)
    truth_NC = np.eye(probabilities_NC.shape[1])[labels_N]
    accuracy = float((probabilities_NC.argmax(1) == labels_N).mean())
    temperature = best_temperature(probabilities_NC, labels_N)
    mended_NC = None if temperature is None else tempered(probabilities_NC, temperature)
    return Calibration(
        bins=bins,
        ece=expected_error(bins),
        brier=float(((probabilities_NC - truth_NC) ** 2).sum(1).mean()),
        excess=float(probabilities_NC.max(1).mean()) - accuracy,
        temperature=temperature,
        mended_ece=None if mended_NC is None else expected_error(reliability(mended_NC, labels_N)),
        log_loss=log_loss(probabilities_NC, labels_N),
        mended_log_loss=None if mended_NC is None else log_loss(mended_NC, labels_N),
    )


def reliability(probabilities_NC: Array, labels_N: Array) -> tuple[Bin, ...]:
    sure_N = probabilities_NC.max(1)
    right_N = probabilities_NC.argmax(1) == labels_N
    bin_N = np.minimum((sure_N * BINS).astype(int), BINS - 1)
    rows, sure, right = (np.bincount(bin_N, weights, BINS).tolist() for weights in (None, sure_N, right_N))
    return tuple(
        Bin(i / BINS, (i + 1) / BINS, rows[i], *((sure[i] / rows[i], right[i] / rows[i]) if rows[i] else (None, None)))
        for i in range(BINS)
    )


def expected_error(bins: tuple[Bin, ...]) -> float:
    gaps = [
        each.rows * abs(each.accuracy - each.confidence)
        for each in bins
        if each.accuracy is not None and each.confidence is not None
    ]
    return sum(gaps) / sum(each.rows for each in bins)


def tempered(probabilities_NC: Array, temperature: float) -> Array:
    """The probabilities that the logits divided by the temperature would have given."""
    logits_NC = np.log(probabilities_NC) / temperature
    powers_NC = np.exp(logits_NC - logits_NC.max(1, keepdims=True))
    scaled_NC: Array = powers_NC / powers_NC.sum(1, keepdims=True)
    return scaled_NC


def best_temperature(probabilities_NC: Array, labels_N: Array) -> float | None:
    """The one with the lowest log loss, sought on the scale on which 2 and 1/2 are as far from 1."""
    ends = (float(np.log(COLDEST)), float(np.log(HOTTEST)))
    found = minimize_scalar(
        lambda at: log_loss(tempered(probabilities_NC, np.exp(at)), labels_N), bounds=ends, method="bounded"
    )
    at = float(found.x)
    return float(np.exp(at)) if min(at - ends[0], ends[1] - at) > 0.01 else None
