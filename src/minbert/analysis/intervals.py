"""The score of a sample of rows -> the interval in which the score of all such rows lies, 19 times in 20."""

import numpy as np
from scipy.stats import norm

from minbert.comparison.resampling import MAX_RESAMPLE_NUMBERS, SummableMetric, bootstrap_weights
from minbert.data.metrics import Array

RESAMPLES = 1000
Z = float(norm.ppf(0.975))


def interval(metric: str, answers: Array, labels: Array, seed: int = 0) -> tuple[float, float]:
    """Wilson's for accuracy; else the percentiles of the metric over resampled rows."""
    if metric == "accuracy":
        return wilson(int((answers.argmax(1) == labels).sum()), len(labels))
    table, generator = SummableMetric(metric, [answers], labels), np.random.default_rng(seed)
    most = max(1, MAX_RESAMPLE_NUMBERS // table.width)
    counts = (min(most, RESAMPLES - start) for start in range(0, RESAMPLES, most))
    found = [table.resampled(bootstrap_weights(generator, count, len(labels))) for count in counts]
    low, high = np.quantile(np.concatenate(found), [0.025, 0.975])
    return float(low), float(high)


def wilson(hits: int, rows: int) -> tuple[float, float]:
    """Wilson 1927: unlike the usual one it stays within 0 and 1, and has a width where all or none are right."""
    share, part = hits / rows, Z**2 / rows
    middle = (share + part / 2) / (1 + part)
    half = float(np.sqrt(share * (1 - share) * part + part**2 / 4)) / (1 + part)
    return max(0.0, middle - half), min(1.0, middle + half)
