"""The score on a sample of rows -> its 95 % confidence interval."""

import numpy as np
from scipy.stats import norm

from minbert.comparison.resampling import MAX_RESAMPLE_NUMBERS, SummableMetric, bootstrap_weights
from minbert.data.metrics import Array

INTERVAL_RESAMPLES = 1000
Z_95 = float(norm.ppf(0.975))


def score_interval(metric: str, predictions: Array, labels: Array, seed: int = 0) -> tuple[float, float]:
    """Wilson's interval for accuracy; for other metrics the percentile bootstrap over rows."""
    if metric == "accuracy":
        return wilson_interval(int((predictions.argmax(1) == labels).sum()), len(labels))
    table, generator = SummableMetric(metric, [predictions], labels), np.random.default_rng(seed)
    most = max(1, MAX_RESAMPLE_NUMBERS // table.width)
    counts = (min(most, INTERVAL_RESAMPLES - start) for start in range(0, INTERVAL_RESAMPLES, most))
    found = [table.resampled(bootstrap_weights(generator, count, len(labels))) for count in counts]
    low, high = np.quantile(np.concatenate(found), [0.025, 0.975])
    return float(low), float(high)


def wilson_interval(hits: int, rows: int) -> tuple[float, float]:
    """Wilson 1927: unlike the normal approximation it stays within 0 and 1, and never has zero width."""
    fraction, weight = hits / rows, Z_95**2 / rows
    middle = (fraction + weight / 2) / (1 + weight)
    half = float(np.sqrt(fraction * (1 - fraction) * weight + weight**2 / 4)) / (1 + weight)
    return max(0.0, middle - half), min(1.0, middle + half)
