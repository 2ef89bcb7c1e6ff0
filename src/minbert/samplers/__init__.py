"""Samplers: which tasks the next step trains."""

from collections.abc import Callable

from minbert.samplers.base import Sampler
from minbert.samplers.proportional import Proportional
from minbert.samplers.round_robin import RoundRobin

SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "proportional": Proportional,
    "round_robin": RoundRobin,
}

__all__ = ["SAMPLERS", "Sampler"]
