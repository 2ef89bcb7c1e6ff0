"""The score on a sample of rows -> its 95 % confidence interval."""

import numpy as np

from minbert.comparison.resampling import MAX_RESAMPLE_NUMBERS, SummableMetric, bootstrap_weights
from minbert.data.intervals import wilson_interval
from minbert.data.metrics import Array

SLICE_RESAMPLES = 1000


def score_interval(metric: str, predictions: Array, labels: Array, seed: int = 0) -> tuple[float, float]:
    """Wilson's interval for accuracy; for other metrics the percentile bootstrap over rows."""
    if metric == "accuracy":
        return wilson_interval(int((predictions.argmax(1) == labels).sum()), len(labels))
    table, generator = SummableMetric(metric, [predictions], labels), np.random.default_rng(seed)
    most = max(1, MAX_RESAMPLE_NUMBERS // table.width)
    counts = (min(most, SLICE_RESAMPLES - start) for start in range(0, SLICE_RESAMPLES, most))
    found = [table.resampled(bootstrap_weights(generator, count, len(labels))) for count in counts]
    low, high = np.quantile(np.concatenate(found), [0.025, 0.975])
    return float(low), float(high)
