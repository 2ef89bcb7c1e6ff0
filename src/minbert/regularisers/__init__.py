"""Regularisers: what one task's training has to mind besides its loss."""

from collections.abc import Callable

from minbert.regularisers.base import Regulariser
from minbert.regularisers.mixout import Mixout
from minbert.regularisers.r_drop import RDrop
from minbert.regularisers.smart import Smart
from minbert.regularisers.towards_start import TowardsStart

REGULARISERS: dict[str, Callable[..., Regulariser]] = {
    "mixout": Mixout,
    "r_drop": RDrop,
    "smart": Smart,
    "towards_start": TowardsStart,
}

__all__ = ["REGULARISERS", "Regulariser"]
