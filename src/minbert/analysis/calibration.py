"""Probabilities and labels -> how well a model's confidence matches its accuracy.

N rows, C classes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from minbert.data.metrics import PROBABILITY_FLOOR, Array, log_loss
from minbert.inference.calibration import HIGHEST_TEMPERATURE, LOWEST_TEMPERATURE, with_temperature

RELIABILITY_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """The rows whose predicted label has a probability from `low` up to `high`."""

    low: float
    high: float
    rows: int
    # the mean probability of the predicted labels, and the fraction that is correct; None without rows
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True)
class Calibration:
    bins: tuple[ReliabilityBin, ...]
    # expected calibration error: |accuracy - confidence|, averaged over rows (Naeini et al. 2015)
    ece: float
    # squared distance between probabilities and truth, summed over all labels (Brier 1950): 0 to 2
    brier: float
    # mean confidence minus accuracy: positive means overconfident
    overconfidence: float
    # the best divisor of the logits (Guo et al. 2017), fitted on these same rows; above 1 means overconfident.
    # None: there is no optimum between 1/20 and 20
    temperature: float | None
    # after dividing by that temperature
    scaled_ece: float | None
    log_loss: float
    scaled_log_loss: float | None


def calibrate(probabilities_NC: Array, labels_N: Array) -> Calibration:
    probabilities_NC = np.maximum(probabilities_NC.astype(float), PROBABILITY_FLOOR)
    bins = reliability_bins(probabilities_NC, labels_N)
    truth_NC = np.eye(probabilities_NC.shape[1])[labels_N]
    accuracy = float((probabilities_NC.argmax(1) == labels_N).mean())
    temperature = best_temperature(probabilities_NC, labels_N)
    scaled_NC = None if temperature is None else with_temperature(probabilities_NC, temperature)
    return Calibration(
        bins=bins,
        ece=expected_calibration_error(bins),
        brier=float(((probabilities_NC - truth_NC) ** 2).sum(1).mean()),
        overconfidence=float(probabilities_NC.max(1).mean()) - accuracy,
        temperature=temperature,
        scaled_ece=None if scaled_NC is None else expected_calibration_error(reliability_bins(scaled_NC, labels_N)),
        log_loss=log_loss(probabilities_NC, labels_N),
        scaled_log_loss=None if scaled_NC is None else log_loss(scaled_NC, labels_N),
    )


def reliability_bins(probabilities_NC: Array, labels_N: Array) -> tuple[ReliabilityBin, ...]:
    confidence_N = probabilities_NC.max(1)
    correct_N = probabilities_NC.argmax(1) == labels_N
    bin_N = np.minimum((confidence_N * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    rows, confidence, correct = (
        np.bincount(bin_N, weights, RELIABILITY_BINS).tolist() for weights in (None, confidence_N, correct_N)
    )
    return tuple(
        ReliabilityBin(
            low=i / RELIABILITY_BINS,
            high=(i + 1) / RELIABILITY_BINS,
            rows=rows[i],
            confidence=confidence[i] / rows[i] if rows[i] else None,
            accuracy=correct[i] / rows[i] if rows[i] else None,
        )
        for i in range(RELIABILITY_BINS)
    )


def expected_calibration_error(bins: tuple[ReliabilityBin, ...]) -> float:
    gaps = [
        each.rows * abs(each.accuracy - each.confidence)
        for each in bins
        if each.accuracy is not None and each.confidence is not None
    ]
    return sum(gaps) / sum(each.rows for each in bins)


def best_temperature(probabilities_NC: Array, labels_N: Array) -> float | None:
    """The temperature with the lowest log loss, searched on a logarithmic scale."""
    ends = (float(np.log(LOWEST_TEMPERATURE)), float(np.log(HIGHEST_TEMPERATURE)))
    found = minimize_scalar(
        lambda at: log_loss(with_temperature(probabilities_NC, np.exp(at)), labels_N), bounds=ends, method="bounded"
    )
    at = float(found.x)
    return float(np.exp(at)) if min(at - ends[0], ends[1] - at) > 0.01 else None
