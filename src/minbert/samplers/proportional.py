"""A task is drawn with probability N^exponent / sum of N^exponent, N its number of training examples.

exponent 1: by size; 0.5: by the square root of the size; 0: evenly. Stickland and Murray 2019.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minbert.samplers.base import Sampler


class Proportional(Sampler):
    def __init__(self, sizes: Mapping[str, int], seed: int, *, exponent: float = 1.0) -> None:
        super().__init__(sizes, seed)
        self.generator = np.random.default_rng(seed)
        self.tasks = list(sizes)
        logs = exponent * np.log([float(size) for size in sizes.values()])
        weights = np.exp(logs - logs.max())  # the same shares as N^exponent, which could overflow
        self.probabilities = weights / weights.sum()

    def draw(self) -> tuple[str, ...]:
        return (self.tasks[int(self.generator.choice(len(self.tasks), p=self.probabilities))],)

    def state(self) -> dict[str, Any]:
        return {"generator": self.generator.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.bit_generator.state = state["generator"]
