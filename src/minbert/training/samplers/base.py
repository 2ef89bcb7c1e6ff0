"""The interface of a sampler: which tasks the next micro-batch trains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StageSizes:
    """How much data a stage has."""

    # task -> its number of training rows, at most the stage's max_rows_per_task
    rows: Mapping[str, int]
    # task -> its number of batches per epoch
    batches: Mapping[str, int]
    epochs: int


class Sampler:
    # whether to call `observe` after each epoch
    wants_scores = False

    def __init__(self, sizes: StageSizes, seed: int) -> None:
        self.sizes = sizes
        self.tasks = list(sizes.rows)

    @property
    def draws_per_epoch(self) -> int:
        """How many draws make an epoch (each row about once), unless the recipe sets steps_per_epoch."""
        return sum(self.sizes.batches.values())

    def begin_epoch(self, epoch: int) -> None:
        """Called before the first draw of epoch 1, 2, ... of the stage."""

    def draw(self) -> tuple[str, ...]:
        """The tasks of the next draw, one batch each."""
        raise AssertionError("a sampler defines draw")

    def typical_draws(self) -> list[tuple[str, ...]]:
        """The draws whose durations tell those of all: any one task, unless a sampler draws several."""
        return [(task,) for task in self.tasks]

    def observe(self, train: Mapping[str, float], dev: Mapping[str, float]) -> None:
        """Called after an epoch if it `wants_scores`: each task's main metric on training rows and on dev rows."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, strings, tensors, and lists and dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
