"""a recipe's stages -> StagePlans with their numbers of steps; a task's training rows -> an endless DataLoader."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.recipe import Recipe, Stage
from minbert.config.schema import build_technique
from minbert.data.batch import Batch, EncodedTexts, collate
from minbert.training.samplers import SAMPLERS, Sampler, StageSizes


class DataLoader:
    """Endless batches of one task's training rows; each pass has a new order, which depends only on seed and pass."""

    def __init__(self, task: str, encoded: Mapping[int, EncodedTexts], labels: npt.NDArray[Any], seed: int) -> None:
        """`encoded`: the rows truncated to each maximum length that a stage uses, by this length."""
        self.task = task
        self.encoded = encoded
        self.labels = labels
        # tasks of the same size must not get the same order
        self.seed = [seed, zlib.crc32(task.encode())]
        self.taken = 0
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def draw(self, batch_size: int, max_length: int) -> Batch:
        """The next rows; the last batch of a pass may be smaller."""
        passes, position = divmod(self.taken, len(self))
        if self._order[0] != passes:
            self._order = passes, np.random.default_rng([*self.seed, passes]).permutation(len(self))
        rows = self._order[1][position : position + batch_size]
        self.taken += len(rows)
        return collate(self.task, self.encoded[max_length], self.labels, rows)

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def restore(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]


@dataclass(frozen=True)
class StagePlan:
    """A stage with its number of steps and its sampler."""

    number: int
    stage: Stage
    sampler: Sampler
    steps_per_epoch: int
    # by task
    batch_sizes: dict[str, int]
    max_lengths: dict[str, int]

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.stage.epochs


def plan_stages(recipe: Recipe, rows: Mapping[str, int], max_lengths: Mapping[str, int]) -> list[StagePlan]:
    """`rows`: the number of training rows of each task; `max_lengths`: the maximum tokens per example of each."""
    plans = []
    for number, stage in enumerate(recipe.stages):
        where, seed = f"{recipe.where}: stage {number}", recipe.seed + 1000 * number
        batch_sizes = {
            task: stage.batch_sizes.get(task, recipe.tasks[task].batch_size) for task in stage.tasks or recipe.tasks
        }
        sizes = stage_sizes(stage, {task: rows[task] for task in batch_sizes}, batch_sizes, recipe.epoch_fraction)
        sampler = build_technique("sampler", SAMPLERS, stage.sampler, where, sizes, seed)
        if stage.steps_per_epoch is None:
            steps = -(-sampler.draws_per_epoch // recipe.optimizer.gradient_accumulation_steps)
        else:
            steps = max(1, round(recipe.epoch_fraction * stage.steps_per_epoch))
        lengths = {task: min(max_lengths[task], stage.max_lengths.get(task, max_lengths[task])) for task in batch_sizes}
        plans.append(StagePlan(number, stage, sampler, steps, batch_sizes, lengths))
    return plans


def stage_sizes(
    stage: Stage, rows: Mapping[str, int], batch_sizes: Mapping[str, int], epoch_fraction: float
) -> StageSizes:
    """How much of each task makes an epoch. A loader continues where it stopped, so epochs have different rows."""
    sizes = sorted(rows.values())
    if stage.max_rows_per_task == "smallest":
        limit = sizes[0]
    elif stage.max_rows_per_task == "second_largest":
        limit = sizes[-2:][0]
    else:
        limit = stage.max_rows_per_task or sizes[-1]
    used = {task: min(count, limit) for task, count in rows.items()}
    batches = {task: max(1, round(epoch_fraction * -(-count // batch_sizes[task]))) for task, count in used.items()}
    return StageSizes(used, batches, stage.epochs)
