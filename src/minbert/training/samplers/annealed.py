"""By size at first, ever more evenly from epoch to epoch: N^exponent, and the exponent goes in a line over the stage.

From 1 to 0.2: exponent = 1 - 0.8 (e - 1) / (E - 1) in epoch e of E. Stickland and Murray 2019; report C, equation 9.
"""

from minbert.training.samplers.base import Supply
from minbert.training.samplers.weighted import WeightedSampler, by_size


class AnnealedSampler(WeightedSampler):
    def __init__(self, supply: Supply, seed: int, *, start: float = 1.0, end: float = 0.2) -> None:
        super().__init__(supply, seed)
        self.start, self.end = start, end
        self.shares = by_size(supply.sizes, start)

    def exponent(self, epoch: int) -> float:
        """In epoch 1, 2, ...; a stage of one epoch stays at the start."""
        return self.start + (self.end - self.start) * (epoch - 1) / max(1, self.supply.epochs - 1)

    def begin_epoch(self, epoch: int) -> None:
        self.shares = by_size(self.supply.sizes, self.exponent(epoch))
