"""The base of balancers that correct each task's gradient by those of the other tasks, and add up the results.

A corrected gradient is a linear combination of the tasks' gradients, so their inner products are all it needs.

K tasks of a step.
"""

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from minbert.training.balancers.task_gradients import Gradient, TaskGradientBalancer, dot


class GradientSurgery(TaskGradientBalancer):
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        # not the bare seed, which the samplers use
        self.generator = np.random.default_rng([seed, zlib.crc32(b"surgery")])

    def correction(self, one: str, other: str, product: float, norm: float, other_norm: float) -> float:
        """How much of the other task's gradient to add to this one's, by their inner product and their norms."""
        raise AssertionError("a balancer by gradient surgery defines correction")

    def combine(self, gradients: Mapping[str, Gradient]) -> dict[str, float]:
        tasks, each = list(gradients), list(gradients.values())
        products_KK = np.array([[dot(a, b) if i <= j else 0.0 for j, b in enumerate(each)] for i, a in enumerate(each)])
        products_KK += np.triu(products_KK, 1).T
        total_K = np.zeros(len(tasks))
        for i, one in enumerate(tasks):
            # the coefficient of each gradient in the corrected one
            mixed_K = np.eye(len(tasks))[i]
            for j in self.generator.permutation(len(tasks)):
                if i != j:
                    norm = math.sqrt(max(0.0, mixed_K @ products_KK @ mixed_K))
                    other_norm = math.sqrt(products_KK[j, j])
                    mixed_K[j] += self.correction(one, tasks[j], float(products_KK[j] @ mixed_K), norm, other_norm)
            total_K += mixed_K
        return dict(zip(tasks, total_K.tolist(), strict=True))

    def state(self) -> dict[str, Any]:
        return {"generator": self.generator.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.bit_generator.state = state["generator"]
