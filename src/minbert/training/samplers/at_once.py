"""All tasks in every draw. The largest task decides the length of an epoch; smaller ones are repeated. Report E.

With `repeat = false` each row is used once per epoch: the batches of smaller tasks are spread evenly over it.
"""

from typing import Any

from minbert.training.samplers.base import Sampler, StageSizes


class AtOnceSampler(Sampler):
    """Draws one batch of every task in each step; smaller tasks are repeated, or spread over the epoch."""

    def __init__(self, sizes: StageSizes, seed: int, *, repeat: bool = True) -> None:
        """`repeat`: repeat smaller tasks so that every step has all tasks; false: use each row once per epoch."""
        super().__init__(sizes, seed)
        self.repeat = repeat
        self.drawn = 0

    @property
    def draws_per_epoch(self) -> int:
        return max(self.sizes.batches.values())

    def begin_epoch(self, epoch: int) -> None:
        self.drawn = 0

    def draw(self) -> tuple[str, ...]:
        before, total = self.drawn % self.draws_per_epoch, self.draws_per_epoch
        self.drawn += 1
        # a task with b of n batches takes part where the integer part of b k / n rises, which is b times
        return tuple(
            task
            for task, count in self.sizes.batches.items()
            if self.repeat or (before + 1) * count // total > before * count // total
        )

    def typical_draws(self) -> list[tuple[str, ...]]:
        return [tuple(self.tasks), *([] if self.repeat else super().typical_draws())]

    def state(self) -> dict[str, Any]:
        return {"drawn": self.drawn}

    def restore(self, state: dict[str, Any]) -> None:
        self.drawn = state["drawn"]
