"""After each epoch, more of the tasks whose training score is furthest above their dev score.

gap = max(0, train - dev); weight <- a gap / (sum of gaps) + (1 - a) weight; a falls linearly from `start` to `end`.
The weight on the right is the one before the update, or with `mix_with = "initial"` the one before training: report
A's "original weight" can mean either.
Report A, equation 8. As in the report, the tasks that overfit most are drawn most often. The report's first term is the
score on test rows, whose labels are not public; its analysis shows that training rows are meant.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from minbert.training.samplers.base import StageSizes
from minbert.training.samplers.weighted_base import Probabilities, WeightedSampler, size_probabilities


class PrioritizedSampler(WeightedSampler):
    """After each epoch, draws the tasks more often whose training score is furthest above their dev score."""

    wants_scores = True

    def __init__(
        self,
        sizes: StageSizes,
        seed: int,
        *,
        start: float = 0.5,
        end: float = 0.1,
        initial: Literal["uniform", "proportional"] = "uniform",
        floor: float = 0.0,
        mix_with: Literal["previous", "initial"] = "previous",
    ) -> None:
        """`floor`: the lowest probability of a task. `mix_with`: the weights that are mixed with the proposed ones."""
        super().__init__(sizes, seed)
        if not (0 <= start <= 1 and 0 <= end <= 1):
            raise ValueError("needs start and end between 0 and 1")
        if floor < 0 or floor * len(self.tasks) >= 1:
            raise ValueError(f"needs a floor of at least 0 and below 1/{len(self.tasks)}, the uniform probability")
        self.start, self.end, self.floor = start, end, floor
        self.weights = size_probabilities(sizes.rows, 1.0 if initial == "proportional" else 0.0)
        # None: the weights before each update
        self.mixed_in = self.weights.copy() if mix_with == "initial" else None
        self.probabilities = with_floor(self.weights, floor)
        self.updates = 0

    def observe(self, train: Mapping[str, float], dev: Mapping[str, float]) -> None:
        # between E epochs there are E - 1 updates
        done = min(1.0, self.updates / max(1, self.sizes.epochs - 2))
        self.updates += 1
        # a task that only trains the encoder has no scores, and keeps its weight; max(0, nan) is 0
        measured = [i for i, task in enumerate(self.tasks) if task in train and task in dev]
        gaps = np.array([max(0.0, train[self.tasks[i]] - dev[self.tasks[i]]) for i in measured])
        if gaps.sum() == 0:
            return
        smoothing = self.start + (self.end - self.start) * done
        before = self.weights if self.mixed_in is None else self.mixed_in
        proposed = gaps / gaps.sum() * before[measured].sum()
        self.weights[measured] = smoothing * proposed + (1 - smoothing) * before[measured]
        self.weights /= self.weights.sum()
        self.probabilities = with_floor(self.weights, self.floor)

    def state(self) -> dict[str, Any]:
        return super().state() | {"weights": self.weights.tolist(), "updates": self.updates}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.weights = np.array(state["weights"])
        self.updates = state["updates"]


def with_floor(weights: Probabilities, floor: float) -> Probabilities:
    """Raise weights below the floor to it, and reduce what the others have above it in proportion."""
    above = np.maximum(0.0, weights - floor)
    raised: Probabilities = floor + above * (1 - floor * len(weights)) / above.sum()
    return raised
