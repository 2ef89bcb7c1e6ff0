"""A task is drawn with a fixed probability: its weight in the recipe over the sum of all weights."""

import numpy as np

from minbert.errors import did_you_mean
from minbert.training.samplers.base import StageSizes
from minbert.training.samplers.weighted_base import WeightedSampler


class FixedSampler(WeightedSampler):
    """Draws tasks at random, with fixed probabilities from the recipe."""

    def __init__(self, sizes: StageSizes, seed: int, *, weights: dict[str, float]) -> None:
        super().__init__(sizes, seed)
        for name in weights:
            if name not in self.tasks:
                raise ValueError(f"the stage has no task '{name}'. {did_you_mean(name, self.tasks)}")
        missing = [task for task in self.tasks if task not in weights]
        if missing:
            raise ValueError(f"there is no weight for the task '{missing[0]}'")
        if min(weights.values()) < 0 or max(weights.values()) == 0:
            raise ValueError("needs weights of 0 or more, and one above 0")
        each = np.array([weights[task] for task in self.tasks])
        self.probabilities = each / each.sum()
