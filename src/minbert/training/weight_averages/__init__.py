"""Weight averaging: the mean of the weights over several steps."""

from collections.abc import Callable

from minbert.training.weight_averages.base import Average
from minbert.training.weight_averages.ema import ExponentialMovingAverage
from minbert.training.weight_averages.swa import StochasticWeightAveraging

AVERAGES: dict[str, Callable[..., Average]] = {
    "ema": ExponentialMovingAverage,
    "swa": StochasticWeightAveraging,
}

__all__ = ["AVERAGES", "Average"]
