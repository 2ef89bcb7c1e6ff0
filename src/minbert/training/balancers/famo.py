"""FAMO: all losses should fall by the same fraction.

Minimizes c sum of z_k log L_k, z = softmax(xi), c = 1 / (sum of z_k / L_k): the weight of a loss is c z_k / L_k, and
the weights add up to 1. After the step the losses of the same batches are measured again, and xi descends J' delta,
J the derivative of the softmax, delta_k = log L_k(before) - log L_k(after).
Liu et al. 2023, https://arxiv.org/abs/2306.03792
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from minbert.training.balancers.deferred import DeferredBalancer
from minbert.training.balancers.learned_scalars import LearnedScalars
from minbert.training.balancers.step_losses import loss_ratio_error

# a loss of 0 after the step counts as this, because its logarithm is taken
MIN_LOSS = 1e-8


class FamoBalancer(DeferredBalancer):
    """Learns weights under which all losses fall by the same fraction; costs one more forward pass per step."""

    def __init__(
        self, tasks: Mapping[str, str], seed: int, *, learning_rate: float = 0.025, decay: float = 0.001
    ) -> None:
        super().__init__(tasks, seed)
        self.logits = LearnedScalars(tasks, 0.0, learning_rate, decay)
        self.before: dict[str, float] = {}

    def probabilities(self, tasks: Collection[str]) -> dict[str, float]:
        """The softmax over the tasks of a step."""
        highest = max(self.logits[task] for task in tasks)
        powers = {task: math.exp(self.logits[task] - highest) for task in tasks}
        return {task: power / sum(powers.values()) for task, power in powers.items()}

    def step_weights(self, losses: Mapping[str, float]) -> dict[str, float]:
        for task, loss in losses.items():
            if loss < 0:
                raise loss_ratio_error("famo", task, loss)
        # a loss of 0 (a contrastive batch without a positive pair) has no gradient: as if the task were not in the step
        self.before = {task: loss for task, loss in losses.items() if loss > 0}
        if not self.before:
            return dict.fromkeys(losses, 0.0)
        each = {task: z / self.before[task] for task, z in self.probabilities(self.before).items()}
        return {task: each.get(task, 0.0) / sum(each.values()) for task in losses}

    def after_step(self, measure_again: Callable[[], Mapping[str, float]]) -> None:
        # the softmax of a single task is 1 whatever its logit is
        if len(self.before) < 2:
            return
        after, probabilities = measure_again(), self.probabilities(self.before)
        decrease = {task: math.log(loss / max(MIN_LOSS, after[task])) for task, loss in self.before.items()}
        mean = sum(probabilities[task] * decrease[task] for task in probabilities)
        self.logits.update({task: z * (decrease[task] - mean) for task, z in probabilities.items()})

    def state(self) -> dict[str, Any]:
        return super().state() | {"logits": self.logits.state()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.logits.restore(state["logits"])
