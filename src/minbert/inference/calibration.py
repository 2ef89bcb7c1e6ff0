"""(probabilities, labels) -> the temperature that makes them mean what they say, and a decision threshold.

N rows, C labels.
"""

import numpy as np

from minbert.data.metrics import PROBABILITY_FLOOR, Array, log_loss

# a best temperature at one of these limits means that no temperature helps: every prediction is correct, or none is
# better than a guess
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 1 / 20, 20.0
# fewer rows say too little about probabilities
FEWEST_CALIBRATION_ROWS = 50
GRID = 41


def with_temperature(probabilities_NC: Array, temperature: float) -> Array:
    """The probabilities after dividing the logits by the temperature (Guo et al. 2017)."""
    logits_NC = np.log(np.maximum(probabilities_NC, PROBABILITY_FLOOR)) / temperature
    powers_NC = np.exp(logits_NC - logits_NC.max(1, keepdims=True))
    scaled_NC: Array = powers_NC / powers_NC.sum(1, keepdims=True)
    return scaled_NC


def fit_temperature(probabilities_NC: Array, labels_N: Array) -> float:
    """The temperature with the lowest log loss; 1 if there are too few rows, or no temperature helps."""
    if len(labels_N) < FEWEST_CALIBRATION_ROWS:
        return 1.0
    low, high = np.log(LOWEST_TEMPERATURE), np.log(HIGHEST_TEMPERATURE)
    # the log loss is convex in 1 / T: ever finer grids find its only minimum
    for _ in range(4):
        grid = np.linspace(low, high, GRID)
        losses = [log_loss(with_temperature(probabilities_NC, float(np.exp(at))), labels_N) for at in grid]
        best = int(np.argmin(losses))
        low, high = grid[max(0, best - 1)], grid[min(GRID - 1, best + 1)]
    found = float(np.exp(grid[best]))
    inside = LOWEST_TEMPERATURE * 1.05 < found < HIGHEST_TEMPERATURE / 1.05
    return found if inside else 1.0


def fit_threshold(probabilities_NC: Array, metric: str) -> float | None:
    """The probability of the second of two labels from which it is predicted; None: the more probable label.

    It maximizes the expected metric under the calibrated probabilities themselves, without looking at labels, so it
    cannot overfit to few rows. For accuracy that is 1/2.
    """
    if (
        metric not in ("f1", "macro_f1")
        or probabilities_NC.shape[1] != 2
        or len(probabilities_NC) < FEWEST_CALIBRATION_ROWS
    ):
        return None
    order_N = np.sort(probabilities_NC[:, 1])[::-1]
    count_N, hits_N = np.arange(1, len(order_N) + 1), np.cumsum(order_N)
    f1_N = 2 * hits_N / (count_N + order_N.sum())
    if metric == "macro_f1":
        others = (1 - order_N).sum()
        rest_N = others - np.cumsum(1 - order_N)
        f1_N = (f1_N + 2 * rest_N / np.maximum(1e-12, len(order_N) - count_N + others)) / 2
    best = int(f1_N.argmax())
    below = order_N[best + 1] if best + 1 < len(order_N) else 0.0
    return float((order_N[best] + below) / 2)
