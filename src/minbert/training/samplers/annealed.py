"""By size at first, ever more evenly from epoch to epoch: N^exponent, with an exponent that falls linearly.

From 1 to 0.2: exponent = 1 - 0.8 (e - 1) / (E - 1) in epoch e of E. Stickland and Murray 2019; report C, equation 9.
"""

from minbert.training.samplers.base import StageSizes
from minbert.training.samplers.weighted_base import WeightedSampler, size_probabilities


class AnnealedSampler(WeightedSampler):
    """Draws tasks by size at first, and ever more evenly from epoch to epoch."""

    def __init__(self, sizes: StageSizes, seed: int, *, start: float = 1.0, end: float = 0.2) -> None:
        super().__init__(sizes, seed)
        self.start, self.end = start, end
        self.probabilities = size_probabilities(sizes.rows, start)

    def exponent(self, epoch: int) -> float:
        """In epoch 1, 2, ...; a stage of one epoch uses `start`."""
        return self.start + (self.end - self.start) * (epoch - 1) / max(1, self.sizes.epochs - 1)

    def begin_epoch(self, epoch: int) -> None:
        self.probabilities = size_probabilities(self.sizes.rows, self.exponent(epoch))
