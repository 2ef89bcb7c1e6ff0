"""Optimizers: gradients -> updated weights."""

from collections.abc import Callable

from minbert.training.optimizers.adafactor import Adafactor
from minbert.training.optimizers.adam import Adam
from minbert.training.optimizers.adamw import AdamW
from minbert.training.optimizers.base import OptimizerAlgorithm
from minbert.training.optimizers.lion import Lion
from minbert.training.optimizers.nadam import NAdam
from minbert.training.optimizers.radam import RAdam
from minbert.training.optimizers.rmsprop import RMSprop
from minbert.training.optimizers.sgd import Sgd

OPTIMIZERS: dict[str, Callable[..., OptimizerAlgorithm]] = {
    "adafactor": Adafactor,
    "adam": Adam,
    "adamw": AdamW,
    "lion": Lion,
    "nadam": NAdam,
    "radam": RAdam,
    "rmsprop": RMSprop,
    "sgd": Sgd,
}

__all__ = ["OPTIMIZERS", "OptimizerAlgorithm"]
