"""One task after the other, in the recipe's order: small tasks are repeated, large ones cut short."""

from typing import Any

from minbert.training.samplers.base import Sampler, Supply


class RoundRobinSampler(Sampler):
    def __init__(self, supply: Supply, seed: int) -> None:
        super().__init__(supply, seed)
        self.turn = 0

    def draw(self) -> tuple[str, ...]:
        task = self.tasks[self.turn % len(self.tasks)]
        self.turn += 1
        return (task,)

    def state(self) -> dict[str, Any]:
        return {"turn": self.turn}

    def restore(self, state: dict[str, Any]) -> None:
        self.turn = state["turn"]
