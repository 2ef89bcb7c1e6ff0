"""All batches of the first task, then all of the second, and so on, in every epoch. Reports B and E."""

from typing import Any

from minbert.errors import did_you_mean
from minbert.training.samplers.base import Sampler, StageSizes


class InTurnSampler(Sampler):
    """Takes all batches of the first task, then all of the second, and so on, in every epoch."""

    def __init__(self, sizes: StageSizes, seed: int, *, order: tuple[str, ...] = ()) -> None:
        """`order`: the tasks, first to last; by default in the order of the recipe."""
        super().__init__(sizes, seed)
        for name in order:
            if name not in self.tasks:
                raise ValueError(f"the stage has no task '{name}'. {did_you_mean(name, self.tasks)}")
        if order and sorted(order) != sorted(self.tasks):
            raise ValueError(f"the order should name each of {', '.join(self.tasks)} once")
        self.turns = [task for task in order or self.tasks for _ in range(sizes.batches[task])]
        self.place = 0

    def begin_epoch(self, epoch: int) -> None:
        self.place = 0

    def draw(self) -> tuple[str, ...]:
        task = self.turns[self.place % len(self.turns)]
        self.place += 1
        return (task,)

    def state(self) -> dict[str, Any]:
        return {"place": self.place}

    def restore(self, state: dict[str, Any]) -> None:
        self.place = state["place"]
