"""Samplers: which tasks the next micro-batch trains."""

from collections.abc import Callable

from minbert.training.samplers.annealed import AnnealedSampler
from minbert.training.samplers.at_once import AtOnceSampler
from minbert.training.samplers.base import Sampler, StageSizes
from minbert.training.samplers.fixed import FixedSampler
from minbert.training.samplers.in_turn import InTurnSampler
from minbert.training.samplers.prioritized import PrioritizedSampler
from minbert.training.samplers.proportional import ProportionalSampler
from minbert.training.samplers.round_robin import RoundRobinSampler
from minbert.training.samplers.square_root import SquareRootSampler

SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "annealed": AnnealedSampler,
    "at_once": AtOnceSampler,
    "fixed": FixedSampler,
    "in_turn": InTurnSampler,
    "prioritized": PrioritizedSampler,
    "proportional": ProportionalSampler,
    "round_robin": RoundRobinSampler,
    "square_root": SquareRootSampler,
}

__all__ = ["SAMPLERS", "Sampler", "StageSizes"]
