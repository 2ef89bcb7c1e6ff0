"""Averages: means of the weights over the steps."""

from collections.abc import Callable

from minbert.averages.base import Average
from minbert.averages.ema import ExponentialMovingAverage
from minbert.averages.swa import StochasticWeightAveraging

AVERAGES: dict[str, Callable[..., Average]] = {
    "ema": ExponentialMovingAverage,
    "swa": StochasticWeightAveraging,
}

__all__ = ["AVERAGES", "Average"]
