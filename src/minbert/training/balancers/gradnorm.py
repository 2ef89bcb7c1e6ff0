"""GradNorm: weights under which the norms of the tasks' gradients fit how fast the tasks learn.

G_k = w_k |grad L_k|, r_k = (L_k / L_k(0)) / mean of these over the tasks; w descends the sum of
|G_k - mean(G) r_k^alpha|, where the second term counts as constant, and is rescaled to the sum it had.
Chen et al. 2018, https://arxiv.org/abs/1711.02257

The norms are taken over all shared parameters, which the backward passes of the tasks yield at no extra cost; the paper
takes only the last shared layer to save work. L_k is the mean over the task's batches in a step, and grad L_k is the
gradient of this mean.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from minbert.training.balancers.learned_scalars import LearnedScalars
from minbert.training.balancers.step_losses import StepLosses, loss_ratio_error, losses_by_task, mean_losses
from minbert.training.balancers.task_gradients import TaskGradientBalancer, dot

# a weight below 0 would reverse the direction of learning
MIN_WEIGHT = 0.01


class GradNormBalancer(TaskGradientBalancer):
    """Learns weights that balance the norms of the tasks' gradients by how fast each task learns."""

    def __init__(
        self, tasks: Mapping[str, str], seed: int, *, alpha: float = 1.5, learning_rate: float = 0.025
    ) -> None:
        super().__init__(tasks, seed)
        if alpha < 0:
            raise ValueError(f"alpha {alpha} is below 0")
        self.alpha = alpha
        self.learned = LearnedScalars(tasks, 1.0, learning_rate)
        # task -> its first loss
        self.first: dict[str, float] = {}

    def weights(self) -> dict[str, float]:
        return {task: self.learned[task] for task in self.tasks}

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        means = mean_losses(losses)
        for task, loss in means.items():
            if loss < 0:
                raise loss_ratio_error("gradnorm", task, loss)
            if loss > 0:
                self.first.setdefault(task, loss)
        # a loss of 0 (a contrastive batch without a positive pair) says nothing about how fast the task learns
        present = {task: loss for task, loss in means.items() if loss > 0}
        if len(present) > 1 and shared:
            norms = {task: math.sqrt(dot(self.gradients[task], self.gradients[task])) for task in present}
            # the gradients add up to a mean over all micro-batches, of which only some had the task
            counts = {task: len(each) for task, each in losses_by_task(losses).items()}
            self.update_weights(present, {task: norm * len(losses) / counts[task] for task, norm in norms.items()})
        super().finish_step(losses, shared)

    def update_weights(self, losses: Mapping[str, float], norms: Mapping[str, float]) -> None:
        """One update of the weights; `norms`: those of the weighted gradients."""
        rates = {task: loss / self.first[task] for task, loss in losses.items()}
        mean_rate, mean_norm = (sum(each.values()) / len(each) for each in (rates, norms))
        before = {task: self.learned[task] for task in losses}
        gradients = {}
        for task, norm in norms.items():
            target = mean_norm * (rates[task] / mean_rate) ** self.alpha
            # the derivative of |w |grad L| - target| by w
            gradients[task] = ((norm > target) - (norm < target)) * norm / before[task]
        self.learned.update(gradients)
        after = {task: max(MIN_WEIGHT, self.learned[task]) for task in before}
        for task, weight in after.items():
            self.learned[task] = weight * sum(before.values()) / sum(after.values())

    def state(self) -> dict[str, Any]:
        return {"learned": self.learned.state(), "first": dict(self.first)}

    def restore(self, state: dict[str, Any]) -> None:
        self.learned.restore(state["learned"])
        self.first = dict(state["first"])
