"""The base of samplers that draw one task at random: the probability of each, and a random generator."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.training.samplers.base import Sampler, StageSizes

Probabilities = npt.NDArray[np.float64]


class WeightedSampler(Sampler):
    """`probabilities`: of each task, in the order of `tasks`; uniform until a subclass sets them."""

    probabilities: Probabilities

    def __init__(self, sizes: StageSizes, seed: int) -> None:
        super().__init__(sizes, seed)
        self.generator = np.random.default_rng(seed)
        self.probabilities = np.full(len(self.tasks), 1 / len(self.tasks))

    def draw(self) -> tuple[str, ...]:
        return (self.tasks[int(self.generator.choice(len(self.tasks), p=self.probabilities))],)

    def state(self) -> dict[str, Any]:
        # the probabilities too: they may have been set at the start of the epoch, before the step to resume from
        return {"generator": self.generator.bit_generator.state, "probabilities": self.probabilities.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.bit_generator.state = state["generator"]
        self.probabilities = np.array(state["probabilities"])


def size_probabilities(rows: Mapping[str, int], exponent: float) -> Probabilities:
    """N^exponent / sum of N^exponent."""
    logs = exponent * np.log([float(size) for size in rows.values()])
    weights = np.exp(logs - logs.max())  # the same as N^exponent, which could overflow
    result: Probabilities = weights / weights.sum()
    return result
