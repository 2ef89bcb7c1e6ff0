"""The stages of a run -> how many batches train each task, and how often its rows are passed over."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from minbert.training.samplers.weighted_base import WeightedSampler
from minbert.training.stages import StagePlan


@dataclass(frozen=True)
class PlannedTask:
    """What a task gets if training does not stop early; expected values where tasks are drawn at random."""

    task: str
    rows: int
    batches: float
    # over all its training rows
    passes: float


def planned_tasks(plans: Sequence[StagePlan], rows: Mapping[str, int], accumulated: int) -> list[PlannedTask]:
    """Of every task, over all stages. Samplers that follow the scores are counted as they start.

    `rows`: training rows of each task; `accumulated`: draws per step.
    """
    batches, passes = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    for plan in plans:
        for name, count in planned_batches(plan, accumulated).items():
            batches[name] += count
            passes[name] += count / -(-rows[name] // plan.batch_sizes[name])
    return [PlannedTask(name, rows[name], batches[name], passes[name]) for name in rows]


def planned_batches(plan: StagePlan, accumulated: int) -> dict[str, float]:
    """The batches of each task in a stage."""
    # the run itself must not notice
    sampler, found = deepcopy(plan.sampler), dict.fromkeys(plan.batch_sizes, 0.0)
    draws = plan.steps_per_epoch * accumulated
    for epoch in range(plan.stage.epochs):
        sampler.begin_epoch(epoch + 1)
        if isinstance(sampler, WeightedSampler):
            for name, probability in zip(sampler.tasks, sampler.probabilities.tolist(), strict=True):
                found[name] += draws * probability
            continue
        for _ in range(draws):
            for name in sampler.draw():
                found[name] += 1
    return found
