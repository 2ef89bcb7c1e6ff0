"""GradNorm: weights under which the tasks' gradients have norms that fit how fast they learn.

G_k = w_k |grad L_k|, r_k = (L_k / L_k(0)) / mean of these over the tasks; w descends the sum of
|G_k - mean(G) r_k^alpha|, whose second term counts as constant, and is scaled back to the sum it had.
Chen et al. 2018, https://arxiv.org/abs/1711.02257

The norms are over all shared parameters, which the tasks' own backward passes give for nothing; the paper takes the
last shared layer to save work. L_k is the mean over the task's batches in a step, and its gradient that of this mean.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from minbert.training.balancers.learned import Learned
from minbert.training.balancers.per_task import PerTask, dot
from minbert.training.balancers.tally import Tally, means, no_ratio

# a weight below 0 would turn learning round
LEAST = 0.01


class GradNormBalancer(PerTask):
    def __init__(
        self, tasks: Mapping[str, str], seed: int, *, alpha: float = 1.5, learning_rate: float = 0.025
    ) -> None:
        super().__init__(tasks, seed)
        if alpha < 0:
            raise ValueError(f"alpha {alpha} is below 0")
        self.alpha = alpha
        self.tally = Tally()
        self.learned = Learned(tasks, 1.0, learning_rate)
        self.first: dict[str, float] = {}

    def weights(self) -> dict[str, float]:
        return {task: self.learned[task] for task in self.tasks}

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        self.tally.add(losses)
        super().backward(losses, shared)

    def settle(self, shared: Sequence[nn.Parameter]) -> None:
        parts, losses = len(self.tally.parts), self.tally.close()
        for task, loss in means(losses).items():
            if loss < 0:
                raise no_ratio("gradnorm", task, loss)
            if loss > 0:
                self.first.setdefault(task, loss)
        # a loss of 0, as of a batch without a pair to learn from, says nothing about how fast the task learns
        present = {task: loss for task, loss in means(losses).items() if loss > 0}
        if len(present) > 1 and shared:
            norms = {task: math.sqrt(dot(self.gradients[task], self.gradients[task])) for task in present}
            # the parts add up to a mean over all parts, of which only some had the task
            self.learn(present, {task: norm * parts / len(losses[task]) for task, norm in norms.items()})
        super().settle(shared)

    def learn(self, losses: Mapping[str, float], norms: Mapping[str, float]) -> None:
        """One step of the weights; `norms`: those of the weighted gradients."""
        rates = {task: loss / self.first[task] for task, loss in losses.items()}
        mean_rate, mean_norm = (sum(each.values()) / len(each) for each in (rates, norms))
        before = {task: self.learned[task] for task in losses}
        gradients = {}
        for task, norm in norms.items():
            target = mean_norm * (rates[task] / mean_rate) ** self.alpha
            # the derivative of |w |grad L| - target| by w
            gradients[task] = ((norm > target) - (norm < target)) * norm / before[task]
        self.learned.descend(gradients)
        after = {task: max(LEAST, self.learned[task]) for task in before}
        for task, weight in after.items():
            self.learned[task] = weight * sum(before.values()) / sum(after.values())

    def state(self) -> dict[str, Any]:
        return {"learned": self.learned.state(), "first": dict(self.first)}

    def restore(self, state: dict[str, Any]) -> None:
        self.learned.restore(state["learned"])
        self.first = dict(state["first"])
