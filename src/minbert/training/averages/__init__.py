"""Weight averaging: the mean of the weights over several steps."""

from collections.abc import Callable

from minbert.training.averages.base import Average
from minbert.training.averages.ema import ExponentialMovingAverage
from minbert.training.averages.swa import StochasticWeightAveraging

AVERAGES: dict[str, Callable[..., Average]] = {
    "ema": ExponentialMovingAverage,
    "swa": StochasticWeightAveraging,
}

__all__ = ["AVERAGES", "Average"]
