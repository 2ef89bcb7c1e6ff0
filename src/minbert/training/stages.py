"""The curriculum: a recipe's stages -> plans with numbers of steps, and endless feeds of batches."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.recipe import Recipe, Stage
from minbert.config.schema import build_technique
from minbert.data.batch import Batch, EncodedTexts, collate
from minbert.training.samplers import SAMPLERS, Sampler, Supply


class DataLoader:
    """One task's training examples, endless: each pass in a new order that seed and pass alone decide."""

    def __init__(self, task: str, sequences: Mapping[int, EncodedTexts], labels: npt.NDArray[Any], seed: int) -> None:
        """`sequences`: the same examples, cut to each maximum length that a stage asks for."""
        self.task = task
        self.sequences = sequences
        self.labels = labels
        # tasks of one size must not get the same order
        self.seed = [seed, zlib.crc32(task.encode())]
        self.taken = 0
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def draw(self, batch_size: int, max_length: int) -> Batch:
        """The next examples; the last batch of a pass may be smaller."""
        passes, place = divmod(self.taken, len(self))
        if self._order[0] != passes:
            self._order = passes, np.random.default_rng([*self.seed, passes]).permutation(len(self))
        rows = self._order[1][place : place + batch_size]
        self.taken += len(rows)
        return collate(self.task, self.sequences[max_length], self.labels, rows)

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def restore(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]


@dataclass(frozen=True)
class StagePlan:
    """A stage with its number of steps known and its sampler made."""

    number: int
    stage: Stage
    sampler: Sampler
    steps_per_epoch: int
    # of each of its tasks
    batch_sizes: dict[str, int]
    max_lengths: dict[str, int]

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.stage.epochs


def plan_stages(recipe: Recipe, sizes: Mapping[str, int], max_lengths: Mapping[str, int]) -> list[StagePlan]:
    """`sizes`: the training examples of each task; `max_lengths`: the most tokens of an example of each."""
    plans = []
    for number, stage in enumerate(recipe.stages):
        where, seed = f"{recipe.where}: stage {number}", recipe.seed + 1000 * number
        batch_sizes = {
            task: stage.batch_sizes.get(task, recipe.tasks[task].batch_size) for task in stage.tasks or recipe.tasks
        }
        supply = supply_of(stage, {task: sizes[task] for task in batch_sizes}, batch_sizes, recipe.epoch_fraction)
        sampler = build_technique("sampler", SAMPLERS, stage.sampler, where, supply, seed)
        if stage.steps_per_epoch is None:
            steps = -(-sampler.draws_an_epoch // recipe.optimizer.gradient_accumulation_steps)
        else:
            steps = max(1, round(recipe.epoch_fraction * stage.steps_per_epoch))
        lengths = {task: min(max_lengths[task], stage.max_lengths.get(task, max_lengths[task])) for task in batch_sizes}
        plans.append(StagePlan(number, stage, sampler, steps, batch_sizes, lengths))
    return plans


def supply_of(stage: Stage, sizes: Mapping[str, int], batch_sizes: Mapping[str, int], share: float) -> Supply:
    """How much of each task makes an epoch. A feed goes on where it stopped, so each epoch has other examples."""
    cap = (
        min(sizes.values()) if stage.max_rows_per_task == "smallest" else stage.max_rows_per_task or max(sizes.values())
    )
    capped = {task: min(size, cap) for task, size in sizes.items()}
    batches = {task: max(1, round(share * -(-size // batch_sizes[task]))) for task, size in capped.items()}
    return Supply(capped, batches, stage.epochs)
