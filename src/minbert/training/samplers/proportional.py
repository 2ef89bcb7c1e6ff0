"""A task is drawn with probability N^exponent / sum of N^exponent, N its number of training examples.

exponent 1: by size; 0.5: by the square root of the size; 0: evenly. Stickland and Murray 2019.
"""

from minbert.training.samplers.base import Supply
from minbert.training.samplers.weighted import WeightedSampler, by_size


class ProportionalSampler(WeightedSampler):
    def __init__(self, supply: Supply, seed: int, *, exponent: float = 1.0) -> None:
        super().__init__(supply, seed)
        self.shares = by_size(supply.sizes, exponent)
