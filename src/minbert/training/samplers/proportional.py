"""A task is drawn with probability N^exponent / sum of N^exponent, N its number of training examples.

exponent 1: by size; 0.5: by the square root of the size; 0: evenly. Stickland and Murray 2019.
"""

from minbert.training.samplers.base import StageSizes
from minbert.training.samplers.weighted_base import WeightedSampler, size_probabilities


class ProportionalSampler(WeightedSampler):
    """Draws tasks at random, in proportion to a power of their number of training rows."""

    def __init__(self, sizes: StageSizes, seed: int, *, exponent: float = 1.0) -> None:
        super().__init__(sizes, seed)
        self.probabilities = size_probabilities(sizes.rows, exponent)
