"""Gradient vaccine: the gradients of two tasks should be at least as similar as they usually are.

For each task i and the others j in random order, phi = cos(g_i, g_j): if it is below its target t, so much of g_j is
added to g_i that it becomes t: |g_i| (t sqrt(1 - phi^2) - phi sqrt(1 - t^2)) / (|g_j| sqrt(1 - t^2)). The target of a
pair is a moving average of its phi: t <- (1 - beta) t + beta phi, from 0.
Wang et al. 2021, https://arxiv.org/abs/2010.05874
"""

import math
from collections.abc import Mapping
from typing import Any

from minbert.training.balancers.surgery import GradientSurgery

# close to 1 it takes ever more of the other gradient to reach the target
MAX_TARGET = 0.999


class GradVacBalancer(GradientSurgery):
    """Raises the cosine of two tasks' gradients to its moving average where it falls below (gradient vaccine)."""

    def __init__(self, tasks: Mapping[str, str], seed: int, *, beta: float = 0.5) -> None:
        super().__init__(tasks, seed)
        if not 0 <= beta <= 1:
            raise ValueError(f"beta {beta} is not between 0 and 1")
        self.beta = beta
        self.targets = {one: {other: 0.0 for other in tasks if other != one} for one in tasks}

    def correction(self, one: str, other: str, product: float, norm: float, other_norm: float) -> float:
        if norm == 0 or other_norm == 0:
            return 0.0
        cosine = max(-1.0, min(1.0, product / (norm * other_norm)))
        target = min(MAX_TARGET, self.targets[one][other])
        self.targets[one][other] += self.beta * (cosine - self.targets[one][other])
        if cosine >= target:
            return 0.0
        sine = math.sqrt(1 - target**2)
        return norm * (target * math.sqrt(1 - cosine**2) - cosine * sine) / (other_norm * sine)

    def state(self) -> dict[str, Any]:
        return super().state() | {"targets": {one: dict(others) for one, others in self.targets.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.targets = {one: dict(others) for one, others in state["targets"].items()}
