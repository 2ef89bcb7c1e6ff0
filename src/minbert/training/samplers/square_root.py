"""A task is drawn in proportion to the square root of its number of training examples. Stickland and Murray 2019."""

from minbert.training.samplers.base import StageSizes
from minbert.training.samplers.weighted_base import WeightedSampler, size_probabilities


class SquareRootSampler(WeightedSampler):
    """Draws tasks at random, in proportion to the square root of their number of training rows."""

    def __init__(self, sizes: StageSizes, seed: int) -> None:
        super().__init__(sizes, seed)
        self.probabilities = size_probabilities(sizes.rows, 0.5)
