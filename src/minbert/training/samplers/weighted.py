"""What samplers that draw one task at random have in common: how often which, and a generator of their own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.training.samplers.base import Sampler, Supply

Shares = npt.NDArray[np.float64]


class WeightedSampler(Sampler):
    """`shares`: the probability of each task, in the order of `tasks`; evenly until a subclass says otherwise."""

    shares: Shares

    def __init__(self, supply: Supply, seed: int) -> None:
        super().__init__(supply, seed)
        self.generator = np.random.default_rng(seed)
        self.shares = np.full(len(self.tasks), 1 / len(self.tasks))

    def draw(self) -> tuple[str, ...]:
        return (self.tasks[int(self.generator.choice(len(self.tasks), p=self.shares))],)

    def state(self) -> dict[str, Any]:
        # the shares too: they may have been set when the epoch began, before the place to go on from
        return {"generator": self.generator.bit_generator.state, "shares": self.shares.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.bit_generator.state = state["generator"]
        self.shares = np.array(state["shares"])


def by_size(sizes: Mapping[str, int], exponent: float) -> Shares:
    """N^exponent / sum of N^exponent."""
    logs = exponent * np.log([float(size) for size in sizes.values()])
    weights = np.exp(logs - logs.max())  # the same shares as N^exponent, which could overflow
    shares: Shares = weights / weights.sum()
    return shares
