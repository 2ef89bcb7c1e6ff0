"""What Adam and its variants share: running means of the gradient and of its square.

m <- beta1 m + (1 - beta1) g and v <- beta2 v + (1 - beta2) g^2, both 0 at the start.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import OptimizerAlgorithm, ParameterState, new_step


class MomentOptimizer(OptimizerAlgorithm):
    def __init__(
        self, groups: Iterable[Mapping[str, Any]], *, betas: tuple[float, ...] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(groups)
        check_betas(betas)
        check_rules({"eps > 0": eps > 0})
        self.beta1, self.beta2 = betas
        self.eps = eps

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {"step": new_step(), "exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}


def check_betas(betas: tuple[float, ...]) -> None:
    check_rules({"two betas, 0 <= beta < 1": len(betas) == 2 and all(0 <= beta < 1 for beta in betas)})
