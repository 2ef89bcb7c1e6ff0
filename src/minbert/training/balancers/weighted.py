"""The gradient of the sum of the losses, each times a weight that the recipe gives."""

from collections.abc import Mapping

from minbert.errors import did_you_mean
from minbert.training.balancers.weighing import Weighing


class WeightedBalancer(Weighing):
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
        self.given = weights

    def weights(self) -> dict[str, float]:
        return dict(self.given)
