"""The plain mean of the weights in the last part of training, after the first `start` of all steps.

Izmailov et al. 2018, https://arxiv.org/abs/1803.05407
"""

from typing import Any

from minbert.model.multitask import Model
from minbert.training.weight_averages.base import Average


class StochasticWeightAveraging(Average):
    """Averages the weights of the last part of training (SWA)."""

    def __init__(self, model: Model, *, start: float = 0.75, every: int = 1) -> None:
        """`every`: average the weights of every n-th step; the last step is always included."""
        super().__init__(model)
        if not 0 <= start < 1:
            raise ValueError(f"start must be a fraction of all steps, at least 0 and below 1, not {start}")
        if every < 1:
            raise ValueError(f"every {every} is not at least 1")
        self.start, self.every = start, every
        self.count = 0

    def after_step(self, step: int, total: int) -> None:
        if step > round(self.start * total) and (total - step) % self.every == 0:
            self.count += 1
            self.add_weights(1 / self.count)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.count = state["count"]
