"""The loop: an iterator of Steps. Whoever goes through it logs, evaluates, saves and stops."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from minbert.config.recipe import Optimizer
from minbert.data.batch import Batch
from minbert.errors import UserError
from minbert.model.multitask import Model
from minbert.training.averages import Average
from minbert.training.balancers import Balancer
from minbert.training.distillation import Teachers
from minbert.training.optim import make_optimizer, moments, restore_moments, set_rates
from minbert.training.regularizers import Regularizer
from minbert.training.schedules import Schedule
from minbert.training.stages import DataLoader, StagePlan


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
    # what each task's loss counts, where the balancer has such numbers
    weights: dict[str, float]


@dataclass(frozen=True)
class Learning:
    """All that takes part in training besides the weights."""

    plans: Sequence[StagePlan]
    loaders: Mapping[str, DataLoader]
    balancer: Balancer
    schedule: Schedule
    regularizers: Mapping[str, Sequence[Regularizer]]
    average: Average | None
    # by the number of the stage that they teach in
    teachers: Mapping[int, Teachers]
    settings: Optimizer

    @property
    def steps(self) -> int:
        return sum(plan.steps for plan in self.plans)


class Loop:
    """Training through all stages. Between two steps its `state` is all there is to know, beside the weights."""

    def __init__(self, model: Model, learning: Learning) -> None:
        self.model = model
        self.learning = learning
        self.optimizer = make_optimizer(model, learning.settings)
        self.done = 0
        # task: the losses of its batches in this epoch, summed, and how many they are
        self.epoch_losses: dict[str, tuple[float, int]] = {}
        self.stage = -1
        self._trainable: list[nn.Parameter] = []
        self._shared: list[nn.Parameter] = []

    def __iter__(self) -> Iterator[Step]:
        while self.done < self.learning.steps:
            yield self.step()

    def step(self) -> Step:
        """The model is in training mode in every step, whatever the caller did between."""
        learning, settings, model = self.learning, self.learning.settings, self.model
        plan, place = self.where()
        self.enter(plan)
        epoch, in_epoch = divmod(place, plan.steps_per_epoch)
        if in_epoch == 0:
            plan.sampler.begin_epoch(epoch + 1)
        model.train()
        rate, head_rate = plan.stage.rates(settings)
        factor = learning.schedule.factor(self.done + 1, learning.steps)
        set_rates(self.optimizer, rate * factor, head_rate * factor)
        parts = [self.draw(plan) for _ in range(settings.gradient_accumulation_steps)]
        losses = self.backward(parts, place / plan.steps)
        learning.balancer.settle(self._shared)
        clip(self._trainable, settings.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1
        self.after_step(parts, losses, place / plan.steps, ends_epoch=in_epoch + 1 == plan.steps_per_epoch)
        batches = [batch for part in parts for batch in part]
        backwards = any(parameter.requires_grad for parameter in model.bert.parameters())
        return Step(
            number=self.done,
            total=learning.steps,
            stage=plan.number,
            epoch=epoch + 1,
            ends_epoch=in_epoch + 1 == plan.steps_per_epoch,
            losses={task: sum(each) / len(each) for task, each in losses.items()},
            examples=sum(batch.examples for batch in batches),
            tokens=sum(batch.tokens for batch in batches),
            work=sum(model.work(batch) for batch in batches) * (3 if backwards else 1),
            learning_rate=rate * factor,
            weights=learning.balancer.weights(),
        )

    def where(self) -> tuple[StagePlan, int]:
        """The stage of the next step, and how many of its steps are done."""
        place = self.done
        for plan in self.learning.plans:
            if place < plan.steps:
                return plan, place
            place -= plan.steps
        raise IndexError("all steps are done")

    def enter(self, plan: StagePlan) -> None:
        """Free what the stage frees; once for each stage, and again after a restore."""
        if self.stage == plan.number:
            return
        self.stage = plan.number
        self.model.set_trainable(plan.stage.trainable)
        self._trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        both = (*self.model.bert.parameters(), *self.model.shared.parameters())
        self._shared = [parameter for parameter in both if parameter.requires_grad]

    def draw(self, plan: StagePlan) -> list[Batch]:
        loaders, device = self.learning.loaders, self.model.device
        return [
            loaders[task].draw(plan.batch_sizes[task], plan.max_lengths[task]).to(device)
            for task in plan.sampler.draw()
        ]

    def backward(self, parts: Sequence[Sequence[Batch]], done_of_stage: float) -> dict[str, list[float]]:
        """Add up the gradients of the parts of a step; the losses of each task's batches."""
        losses: dict[str, list[float]] = {}
        for part in parts:
            found = {batch.task: self.loss(batch, done_of_stage) for batch in part}
            for task, loss in found.items():
                losses.setdefault(task, []).append(finite(task, loss.item(), self.done + 1))
            self.learning.balancer.backward({task: loss / len(parts) for task, loss in found.items()}, self._shared)
        return losses

    def loss(self, batch: Batch, done_of_stage: float) -> Tensor:
        """A batch's loss, by its labels and teachers, and what its task's regularizers add to it."""
        regularizers, teachers = self.learning.regularizers.get(batch.task, ()), self.learning.teachers.get(self.stage)
        taught = teachers is not None and batch.task in teachers.lessons
        if not regularizers and not taught:
            return self.model.loss(batch)
        parts = self.model.task(batch.task)
        batch = parts.head.prepare(batch)
        replaced: dict[str, Tensor] = {}
        for regularizer in regularizers:
            replaced |= regularizer.weights()
        output_BO = functional_call(self.model, replaced, (batch,)) if replaced else self.model(batch)
        assert batch.labels_B is not None
        loss: Tensor = parts.loss(output_BO.float(), batch.labels_B)
        if teachers is not None and taught:
            loss = teachers.blend(batch, parts.loss, output_BO, loss, done_of_stage)
        for penalty in [regularizer.penalty(batch, output_BO, loss) for regularizer in regularizers]:
            loss = loss if penalty is None else loss + penalty
        return loss

    def after_step(
        self, parts: Sequence[Sequence[Batch]], losses: dict[str, list[float]], done_of_stage: float, ends_epoch: bool
    ) -> None:
        """Whoever remembers something between steps is told."""
        learning = self.learning
        learning.balancer.stepped(lambda: self.again(parts, done_of_stage))
        for regularizers in learning.regularizers.values():
            for regularizer in regularizers:
                regularizer.stepped()
        if learning.average is not None:
            learning.average.stepped(self.done, learning.steps)
        for task, found in losses.items():
            total, count = self.epoch_losses.get(task, (0.0, 0))
            self.epoch_losses[task] = total + sum(found), count + len(found)
        if ends_epoch:
            learning.balancer.epoch_ended()
            means = [total / count for total, count in self.epoch_losses.values()]
            learning.schedule.epoch_ended(sum(means) / len(means))
            self.epoch_losses = {}

    def again(self, parts: Sequence[Sequence[Batch]], done_of_stage: float) -> dict[str, float]:
        """The losses of a step's batches with the weights of now."""
        found: dict[str, list[float]] = {}
        for batch in [batch for part in parts for batch in part]:
            # some regularizers look for gradients of their own
            with torch.set_grad_enabled(batch.task in self.learning.regularizers):
                found.setdefault(batch.task, []).append(self.loss(batch, done_of_stage).item())
        return {task: sum(each) / len(each) for task, each in found.items()}

    def state(self) -> dict[str, Any]:
        """All that the next steps depend on, beside the weights: numbers, texts, tensors, lists and dicts of these."""
        learning = self.learning
        return {
            "done": self.done,
            "epoch_losses": {task: list(kept) for task, kept in self.epoch_losses.items()},
            "dropout_generator": self.model.bert.dropout_generator.state(),
            "optimizer": moments(self.optimizer),
            "samplers": [plan.sampler.state() for plan in learning.plans],
            "loaders": {task: loader.state() for task, loader in learning.loaders.items()},
            "balancer": learning.balancer.state(),
            "schedule": learning.schedule.state(),
            "regularizers": {task: [each.state() for each in all_] for task, all_ in learning.regularizers.items()},
            "average": {} if learning.average is None else learning.average.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        learning = self.learning
        self.done = state["done"]
        self.epoch_losses = {task: (total, count) for task, (total, count) in state["epoch_losses"].items()}
        self.stage = -1
        self.model.bert.dropout_generator.restore(state["dropout_generator"])
        restore_moments(self.optimizer, state["optimizer"])
        for plan, kept in zip(learning.plans, state["samplers"], strict=True):
            plan.sampler.restore(kept)
        for task, loader in learning.loaders.items():
            loader.restore(state["loaders"][task])
        learning.balancer.restore(state["balancer"])
        learning.schedule.restore(state["schedule"])
        for task, regularizers in learning.regularizers.items():
            for regularizer, kept in zip(regularizers, state["regularizers"][task], strict=True):
                regularizer.restore(kept)
        if learning.average is not None:
            learning.average.restore(state["average"])


def clip(parameters: Sequence[nn.Parameter], limit: float) -> None:
    """Scale the gradients so that the norm of all of them is at most `limit`; 0 leaves them as they are."""
    if limit > 0:
        torch.nn.utils.clip_grad_norm_(parameters, limit)


def finite(task: str, loss: float, step: int) -> float:
    if not math.isfinite(loss):
        raise UserError(
            f"The loss of task '{task}' became {loss} at step {step}; training stopped.",
            "The last checkpoint is kept. Try a lower learning rate, a longer warmup or a smaller clip.",
        )
    return loss
