"""Regularizers: penalties added to the loss of one task, or changes to the weights it trains with."""

from collections.abc import Callable

from minbert.training.regularizers.base import Regularizer
from minbert.training.regularizers.mixout import Mixout
from minbert.training.regularizers.r_drop import RDrop
from minbert.training.regularizers.smart import Smart
from minbert.training.regularizers.soft_sharing import SoftSharing
from minbert.training.regularizers.towards_start import TowardsStart

REGULARIZERS: dict[str, Callable[..., Regularizer]] = {
    "mixout": Mixout,
    "r_drop": RDrop,
    "smart": Smart,
    "soft_sharing": SoftSharing,
    "towards_start": TowardsStart,
}

__all__ = ["REGULARIZERS", "Regularizer"]
