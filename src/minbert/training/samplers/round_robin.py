"""One batch of each task in turn, in the order of the recipe: small tasks are repeated, large ones are not used up."""

from typing import Any

from minbert.training.samplers.base import Sampler, StageSizes


class RoundRobinSampler(Sampler):
    """Takes one batch of each task in turn; small tasks are repeated, large ones are not used up."""

    def __init__(self, sizes: StageSizes, seed: int) -> None:
        super().__init__(sizes, seed)
        self.turn = 0

    def draw(self) -> tuple[str, ...]:
        task = self.tasks[self.turn % len(self.tasks)]
        self.turn += 1
        return (task,)

    def state(self) -> dict[str, Any]:
        return {"turn": self.turn}

    def restore(self, state: dict[str, Any]) -> None:
        self.turn = state["turn"]
