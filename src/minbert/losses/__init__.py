"""Losses: how a head's output B x O is compared with the labels, and read as an answer."""

from collections.abc import Callable

from minbert.losses.base import Loss
from minbert.losses.bce import BinaryCrossEntropy
from minbert.losses.cross_entropy import CrossEntropy
from minbert.losses.mse import MeanSquaredError

LOSSES: dict[str, Callable[..., Loss]] = {
    "bce": BinaryCrossEntropy,
    "cross_entropy": CrossEntropy,
    "mse": MeanSquaredError,
}
DEFAULTS = {"classify": "cross_entropy", "score": "mse"}

__all__ = ["DEFAULTS", "LOSSES", "Loss"]
