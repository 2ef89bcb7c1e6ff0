"""All tasks in every draw. The largest task decides the length of an epoch; smaller ones are repeated. Report E."""

from minbert.training.samplers.base import Sampler


class AtOnceSampler(Sampler):
    """Draws one batch of every task in each step; smaller tasks are repeated."""

    @property
    def draws_per_epoch(self) -> int:
        return max(self.sizes.batches.values())

    def draw(self) -> tuple[str, ...]:
        return tuple(self.tasks)
