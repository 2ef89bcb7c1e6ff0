"""model + TrainingSetup -> an iterator of Steps. The caller logs, evaluates, saves and stops."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from minbert.config.recipe import Optimizer
from minbert.data.batch import Batch
from minbert.errors import UserError
from minbert.model.multitask import Model
from minbert.training.balancers import Balancer
from minbert.training.balancers.step_losses import losses_by_task, mean_losses
from minbert.training.distillation import Teachers
from minbert.training.optim import make_optimizer, set_learning_rates
from minbert.training.regularizers import Regularizer
from minbert.training.schedules import Schedule
from minbert.training.stages import DataLoader, StagePlan
from minbert.training.weight_averages import Average


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
    task_tokens: dict[str, int]
    # floating-point operations of its matrix products
    flops: float
    learning_rate: float
    # the weight of each task's loss, if the balancer has weights
    weights: dict[str, float]


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that training needs besides the model."""

    plans: Sequence[StagePlan]
    loaders: Mapping[str, DataLoader]
    balancer: Balancer
    schedule: Schedule
    regularizers: Mapping[str, Sequence[Regularizer]]
    average: Average | None
    # by the number of the stage
    teachers: Mapping[int, Teachers]
    settings: Optimizer

    @property
    def steps(self) -> int:
        return sum(plan.steps for plan in self.plans)


class Loop:
    """Training through all stages. Between two steps, its `state` and the weights are all there is to save."""

    def __init__(self, model: Model, setup: TrainingSetup) -> None:
        self.model = model
        self.setup = setup
        self.optimizer = make_optimizer(model, setup.settings)
        self.done = 0
        # task -> the sum of the losses of its batches in this epoch, and their count
        self.epoch_losses: dict[str, tuple[float, int]] = {}
        self.stage = -1
        self._trainable: list[nn.Parameter] = []
        self._shared: list[nn.Parameter] = []

    def __iter__(self) -> Iterator[Step]:
        while self.done < self.setup.steps:
            yield self.step()

    def step(self) -> Step:
        """Draw batches, add up their gradients, update the weights. Puts the model into training mode."""
        setup, settings = self.setup, self.setup.settings
        plan, stage_step = self.position()
        self.enter_stage(plan)
        epoch, epoch_step = divmod(stage_step, plan.steps_per_epoch)
        if epoch_step == 0:
            plan.sampler.begin_epoch(epoch + 1)
        self.model.train()
        learning_rate = self.set_learning_rates(plan)
        micro_batches = [self.draw_batches(plan) for _ in range(settings.gradient_accumulation_steps)]
        progress = stage_step / plan.steps
        losses = self.backward(micro_batches, progress)
        setup.balancer.finish_step(losses, self._shared)
        clip_gradients(self._trainable, settings.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1
        ends_epoch = epoch_step + 1 == plan.steps_per_epoch
        self.after_step(micro_batches, losses, progress, ends_epoch)
        batches = [batch for micro_batch in micro_batches for batch in micro_batch]
        return Step(
            number=self.done,
            total=setup.steps,
            stage=plan.number,
            epoch=epoch + 1,
            ends_epoch=ends_epoch,
            losses=mean_losses(losses),
            examples=sum(batch.examples for batch in batches),
            tokens=sum(batch.tokens for batch in batches),
            task_tokens=tokens_by_task(batches),
            flops=self.flops(batches),
            learning_rate=learning_rate,
            weights=setup.balancer.weights(),
        )

    def position(self) -> tuple[StagePlan, int]:
        """The stage of the next step, and how many of the stage's steps are done."""
        return self.position_of(self.done)

    def position_of(self, step: int) -> tuple[StagePlan, int]:
        """The stage of a step, counted from 0, and how many of the stage's steps come before it."""
        stage_step = step
        for plan in self.setup.plans:
            if stage_step < plan.steps:
                return plan, stage_step
            stage_step -= plan.steps
        raise IndexError("all steps are done")

    def enter_stage(self, plan: StagePlan) -> None:
        """Set which parameters are trainable, once per stage and again after a restore."""
        if self.stage == plan.number:
            return
        self.stage = plan.number
        self.model.set_trainable(plan.stage.trainable, plan.stage.frozen_dropout)
        self._trainable = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        shared = (*self.model.bert.parameters(), *self.model.shared.parameters())
        self._shared = [parameter for parameter in shared if parameter.requires_grad]

    def set_learning_rates(self, plan: StagePlan) -> float:
        """Set the learning rates of the next step; returns the encoder's."""
        rate, head_rate = plan.stage.rates(self.setup.settings)
        factor = self.setup.schedule.factor(self.done + 1, self.setup.steps)
        set_learning_rates(self.optimizer, rate * factor, head_rate * factor)
        return rate * factor

    def draw_batches(self, plan: StagePlan) -> list[Batch]:
        """One micro-batch: a batch of each task that the sampler draws."""
        loaders, device = self.setup.loaders, self.model.device
        return [
            loaders[task].draw(plan.batch_sizes[task], plan.max_lengths[task]).to(device)
            for task in plan.sampler.draw()
        ]

    def backward(self, micro_batches: Sequence[Sequence[Batch]], progress: float) -> list[dict[str, float]]:
        """Add up the gradients of the micro-batches; returns the losses of each."""
        losses = []
        for micro_batch in micro_batches:
            found = {batch.task: self.loss(batch, progress) for batch in micro_batch}
            losses.append({task: loss.detach() for task, loss in found.items()})
            self.setup.balancer.backward(found, len(micro_batches), self._shared)
        numbers = read_losses(losses)
        check_finite(numbers, self.done + 1)
        return numbers

    def loss(self, batch: Batch, progress: float) -> Tensor:
        """The task's loss on labels and teachers, plus the penalties of its regularizers.

        `progress`: the fraction of the stage that is done.
        """
        regularizers, teachers = self.setup.regularizers.get(batch.task, ()), self.setup.teachers.get(self.stage)
        batch = self.model.prepare_batch(batch)
        weights: dict[str, Tensor] = {}
        for regularizer in regularizers:
            weights |= regularizer.weights()
        output_BO, loss = self.model.output_and_loss(batch, weights)
        if teachers is not None and batch.task in teachers.lessons:
            loss = teachers.blend(batch, self.model.task(batch.task).loss, output_BO, loss, progress)
        for penalty in [regularizer.penalty(batch, output_BO, loss) for regularizer in regularizers]:
            loss = loss if penalty is None else loss + penalty
        return loss

    def flops(self, batches: Sequence[Batch]) -> float:
        """Of a training step; the backward pass takes twice as many as the forward pass."""
        backward = any(parameter.requires_grad for parameter in self.model.bert.parameters())
        return sum(self.model.forward_flops(batch) for batch in batches) * (3 if backward else 1)

    def after_step(
        self,
        micro_batches: Sequence[Sequence[Batch]],
        losses: Sequence[Mapping[str, float]],
        progress: float,
        ends_epoch: bool,
    ) -> None:
        """Notify everything that keeps state between steps."""
        setup = self.setup
        setup.balancer.after_step(lambda: self.measure_again(micro_batches, progress))
        for regularizers in setup.regularizers.values():
            for regularizer in regularizers:
                regularizer.after_step()
        if setup.average is not None:
            setup.average.after_step(self.done, setup.steps)
        for task, found in losses_by_task(losses).items():
            total, count = self.epoch_losses.get(task, (0.0, 0))
            self.epoch_losses[task] = total + sum(found), count + len(found)
        if ends_epoch:
            setup.balancer.after_epoch()
            means = [total / count for total, count in self.epoch_losses.values()]
            setup.schedule.after_epoch(sum(means) / len(means))
            self.epoch_losses = {}

    def measure_again(self, micro_batches: Sequence[Sequence[Batch]], progress: float) -> dict[str, float]:
        """The mean losses of a step's batches with the current weights."""
        losses = []
        for batch in [batch for micro_batch in micro_batches for batch in micro_batch]:
            # some regularizers compute gradients inside their penalty
            with torch.set_grad_enabled(batch.task in self.setup.regularizers):
                losses.append({batch.task: self.loss(batch, progress).detach()})
        return mean_losses(read_losses(losses))

    def state(self) -> dict[str, Any]:
        """All that the next steps depend on besides the weights: numbers, strings, tensors, lists and dicts."""
        setup = self.setup
        return {
            "done": self.done,
            "epoch_losses": {task: list(kept) for task, kept in self.epoch_losses.items()},
            "dropout_generator": self.model.bert.dropout_generator.state(),
            "optimizer": self.optimizer.state_dict(),
            "samplers": [plan.sampler.state() for plan in setup.plans],
            "loaders": {task: loader.state() for task, loader in setup.loaders.items()},
            "balancer": setup.balancer.state(),
            "schedule": setup.schedule.state(),
            "regularizers": {task: [each.state() for each in some] for task, some in setup.regularizers.items()},
            "average": {} if setup.average is None else setup.average.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        setup = self.setup
        self.done = state["done"]
        self.epoch_losses = {task: (total, count) for task, (total, count) in state["epoch_losses"].items()}
        self.stage = -1
        self.model.bert.dropout_generator.restore(state["dropout_generator"])
        self.optimizer.load_state_dict(state["optimizer"])
        for plan, kept in zip(setup.plans, state["samplers"], strict=True):
            plan.sampler.restore(kept)
        for task, loader in setup.loaders.items():
            loader.restore(state["loaders"][task])
        setup.balancer.restore(state["balancer"])
        setup.schedule.restore(state["schedule"])
        for task, regularizers in setup.regularizers.items():
            for regularizer, kept in zip(regularizers, state["regularizers"][task], strict=True):
                regularizer.restore(kept)
        if setup.average is not None:
            setup.average.restore(state["average"])


def tokens_by_task(batches: Sequence[Batch]) -> dict[str, int]:
    found: dict[str, int] = {}
    for batch in batches:
        found[batch.task] = found.get(batch.task, 0) + batch.tokens
    return found


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> None:
    """Scale the gradients so that their total norm is at most `max_norm`; 0 leaves them as they are."""
    if max_norm > 0:
        torch.nn.utils.clip_grad_norm_(parameters, max_norm)


def read_losses(losses: Sequence[Mapping[str, Tensor]]) -> list[dict[str, float]]:
    """The same as numbers: all losses are read from the device at once, since each read waits for it."""
    numbers = iter(torch.stack([loss for micro_batch in losses for loss in micro_batch.values()]).tolist())
    return [{task: next(numbers) for task in micro_batch} for micro_batch in losses]


def check_finite(losses: Sequence[Mapping[str, float]], step: int) -> None:
    for task, loss in ((task, loss) for micro_batch in losses for task, loss in micro_batch.items()):
        if not math.isfinite(loss):
            raise UserError(
                f"The loss of task '{task}' became {loss} at step {step}; training stopped.",
                "The last checkpoint is kept. Try a lower learning rate, a longer warmup or a smaller max_grad_norm.",
            )
