"""A task is drawn in proportion to the square root of its number of training examples. Stickland and Murray 2019."""

from minbert.training.samplers.base import Supply
from minbert.training.samplers.weighted import WeightedSampler, by_size


class SquareRootSampler(WeightedSampler):
    def __init__(self, supply: Supply, seed: int) -> None:
        super().__init__(supply, seed)
        self.shares = by_size(supply.sizes, 0.5)
