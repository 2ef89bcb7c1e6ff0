"""Samplers: which tasks the next step trains."""

from collections.abc import Callable

from minbert.samplers.annealed import Annealed
from minbert.samplers.at_once import AtOnce
from minbert.samplers.base import Sampler, Supply
from minbert.samplers.fixed import Fixed
from minbert.samplers.in_turn import InTurn
from minbert.samplers.prioritised import Prioritised
from minbert.samplers.proportional import Proportional
from minbert.samplers.round_robin import RoundRobin
from minbert.samplers.square_root import SquareRoot

SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "annealed": Annealed,
    "at_once": AtOnce,
    "fixed": Fixed,
    "in_turn": InTurn,
    "prioritised": Prioritised,
    "proportional": Proportional,
    "round_robin": RoundRobin,
    "square_root": SquareRoot,
}

__all__ = ["SAMPLERS", "Sampler", "Supply"]
