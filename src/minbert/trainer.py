"""The loop: a generator of Steps. Whoever calls it logs, evaluates, saves and stops."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from minbert.balancers import Balancer
from minbert.errors import UserError
from minbert.model import Model
from minbert.optim import make_optimiser, rate_factor
from minbert.recipe import Optimiser
from minbert.stages import Feed, StagePlan


@dataclass(frozen=True)
class Step:
    """One update of the weights."""

    number: int
    total: int
    stage: int
    epoch: int
    ends_epoch: bool
    losses: dict[str, float]
    examples: int
    tokens: int
    # floating-point operations of its matrix products
    work: float
    learning_rate: float


def train(
    model: Model,
    plans: Sequence[StagePlan],
    feeds: Mapping[str, Feed],
    balancer: Balancer,
    settings: Optimiser,
) -> Iterator[Step]:
    """Train through all stages. The model is in training mode at every step, whatever the caller did between."""
    total = sum(plan.steps for plan in plans)
    number = 0
    for plan in plans:
        model.free(plan.stage.free)
        rate, head_rate = plan.stage.rates(settings)
        optimiser = make_optimiser(model, settings, rate, head_rate)
        shared = [parameter for parameter in model.bert.parameters() if parameter.requires_grad]
        free = [parameter for parameter in model.parameters() if parameter.requires_grad]
        for step_in_stage in range(1, plan.steps + 1):
            number += 1
            model.train()
            factor = rate_factor(settings.schedule, settings.warmup, number, total)
            for group in optimiser.param_groups:
                group["lr"] = group["base_lr"] * factor
            losses: dict[str, list[float]] = {}
            examples = tokens = 0
            work = 0.0
            for _ in range(settings.accumulate):
                batches = [feeds[task].draw().to(model.device) for task in plan.sampler.draw()]
                found = {batch.task: model.loss(batch) for batch in batches}
                for task, loss in found.items():
                    losses.setdefault(task, []).append(finite(task, loss.item(), number))
                balancer.backward({task: loss / settings.accumulate for task, loss in found.items()}, shared)
                examples += sum(batch.examples for batch in batches)
                tokens += sum(batch.tokens for batch in batches)
                work += sum(model.work(batch) for batch in batches) * (3 if shared else 1)
            clip(free, settings.clip)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            yield Step(
                number=number,
                total=total,
                stage=plan.number,
                epoch=-(-step_in_stage // plan.steps_per_epoch),
                ends_epoch=step_in_stage % plan.steps_per_epoch == 0,
                losses={task: sum(each) / len(each) for task, each in losses.items()},
                examples=examples,
                tokens=tokens,
                work=work,
                learning_rate=rate * factor,
            )


def clip(parameters: Sequence[nn.Parameter], limit: float) -> None:
    """Scale the gradients so that the norm of all of them is at most `limit`; 0 leaves them as they are."""
    if limit > 0:
        torch.nn.utils.clip_grad_norm_(parameters, limit)


def finite(task: str, loss: float, step: int) -> float:
    if not math.isfinite(loss):
        raise UserError(
            f"The loss of task '{task}' became {loss} at step {step}; training stopped.",
            "The best model so far is kept. Try a lower learning rate, a longer warmup or a smaller clip.",
        )
    return loss
