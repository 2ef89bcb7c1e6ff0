"""Weights from a learned uncertainty of each task: with s = log sigma^2,

classify: exp(-s) L + s / 2;  score: exp(-s) L / 2 + s / 2;  form = "half": the latter for both.
Kendall et al. 2018, https://arxiv.org/abs/1705.07115
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from torch import nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.learned_scalars import LearnedScalars
from minbert.training.balancers.step_losses import StepLosses, mean_losses


class UncertaintyBalancer(Balancer):
    """Learns an uncertainty for each task, and gives uncertain tasks less weight."""

    def __init__(
        self,
        tasks: Mapping[str, str],
        seed: int,
        *,
        form: Literal["kendall", "half"] = "kendall",
        learning_rate: float = 1e-3,
    ) -> None:
        super().__init__(tasks, seed)
        self.factors = {task: 1.0 if kind == "classify" and form == "kendall" else 0.5 for task, kind in tasks.items()}
        self.logs = LearnedScalars(tasks, 0.0, learning_rate)

    def weights(self) -> dict[str, float]:
        return {task: factor * math.exp(-self.logs[task]) for task, factor in self.factors.items()}

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        weights = self.weights()
        # the derivative of weight(s) L + s / 2
        self.logs.update({task: 0.5 - weights[task] * loss for task, loss in mean_losses(losses).items()})

    def state(self) -> dict[str, Any]:
        return {"logs": self.logs.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.logs.restore(state["logs"])
