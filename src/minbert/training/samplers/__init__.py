"""Samplers: which tasks the next step trains."""

from collections.abc import Callable

from minbert.training.samplers.annealed import Annealed
from minbert.training.samplers.at_once import AtOnce
from minbert.training.samplers.base import Sampler, Supply
from minbert.training.samplers.fixed import Fixed
from minbert.training.samplers.in_turn import InTurn
from minbert.training.samplers.prioritized import Prioritized
from minbert.training.samplers.proportional import Proportional
from minbert.training.samplers.round_robin import RoundRobin
from minbert.training.samplers.square_root import SquareRoot

SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "annealed": Annealed,
    "at_once": AtOnce,
    "fixed": Fixed,
    "in_turn": InTurn,
    "prioritized": Prioritized,
    "proportional": Proportional,
    "round_robin": RoundRobin,
    "square_root": SquareRoot,
}

__all__ = ["SAMPLERS", "Sampler", "Supply"]
