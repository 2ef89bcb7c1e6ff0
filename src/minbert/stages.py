"""The curriculum: a recipe's stages -> plans with numbers of steps, and endless feeds of batches."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.batch import Batch, Sequences, make_batch
from minbert.recipe import Recipe, Stage
from minbert.samplers import SAMPLERS, Sampler
from minbert.variants import build


class Feed:
    """One task's training examples, endless: each pass in a new order that seed and pass alone decide."""

    def __init__(self, task: str, sequences: Sequences, labels: npt.NDArray[Any], batch_size: int, seed: int) -> None:
        self.task = task
        self.sequences = sequences
        self.labels = labels
        self.batch_size = batch_size
        # tasks of one size must not get the same order
        self.seed = [seed, zlib.crc32(task.encode())]
        self.batches_a_pass = -(-len(sequences) // batch_size)
        self.taken = 0
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.sequences)

    def draw(self) -> Batch:
        passes, place = divmod(self.taken, self.batches_a_pass)
        if self._order[0] != passes:
            self._order = passes, np.random.default_rng([*self.seed, passes]).permutation(len(self))
        rows = self._order[1][place * self.batch_size : (place + 1) * self.batch_size]
        self.taken += 1
        return make_batch(self.task, self.sequences, self.labels, rows)

    def state(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def restore(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]


@dataclass(frozen=True)
class StagePlan:
    """A stage with its number of steps known and its sampler made."""

    number: int
    stage: Stage
    tasks: tuple[str, ...]
    sampler: Sampler
    steps_per_epoch: int

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.stage.epochs


def make_samplers(recipe: Recipe, sizes: Mapping[str, int]) -> list[Sampler]:
    """A sampler for each stage; `sizes`: the training examples of each task."""
    samplers = []
    for number, stage in enumerate(recipe.stages):
        chosen = {task: sizes[task] for task in stage.tasks or recipe.tasks}
        where, seed = f"{recipe.where}: stage {number}", recipe.seed + 1000 * number
        samplers.append(build("sampler", SAMPLERS, stage.sampler, where, chosen, seed))
    return samplers


def plan_stages(recipe: Recipe, feeds: Mapping[str, Feed]) -> list[StagePlan]:
    samplers = make_samplers(recipe, {task: len(feed) for task, feed in feeds.items()})
    plans = []
    for number, (stage, sampler) in enumerate(zip(recipe.stages, samplers, strict=True)):
        tasks = stage.tasks or tuple(recipe.tasks)
        batches = sum(feeds[task].batches_a_pass for task in tasks)
        steps = stage.steps_per_epoch or -(-batches // recipe.optimiser.accumulate)
        plans.append(StagePlan(number, stage, tasks, sampler, steps))
    return plans
