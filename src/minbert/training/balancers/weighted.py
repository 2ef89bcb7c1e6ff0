"""The gradient of the weighted sum of the losses, with weights from the recipe."""

from collections.abc import Mapping

from minbert.errors import did_you_mean
from minbert.training.balancers.base import Balancer


class WeightedBalancer(Balancer):
    """Multiplies each task's loss by a weight from the recipe."""

    def __init__(self, tasks: Mapping[str, str], seed: int, *, weights: dict[str, float]) -> None:
        super().__init__(tasks, seed)
        for name in weights:
            if name not in tasks:
                raise ValueError(f"the recipe has no task '{name}'. {did_you_mean(name, tasks)}")
        missing = [task for task in tasks if task not in weights]
        if missing:
            raise ValueError(f"there is no weight for the task '{missing[0]}'")
        if min(weights.values()) < 0 or max(weights.values()) == 0:
            raise ValueError("needs weights of 0 or more, and one above 0")
        self.fixed_weights = weights

    def weights(self) -> dict[str, float]:
        return dict(self.fixed_weights)
