"""theta <- (1 - lr decay) theta - lr sign(beta1 m + (1 - beta1) g), then m <- beta2 m + (1 - beta2) g.

Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2 (arXiv 2302.06675).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from minbert.training.optimizers.base import OptimizerAlgorithm, ParameterState
from minbert.training.optimizers.moments import check_betas


class Lion(OptimizerAlgorithm):
    """Moves every weight by the learning rate in the direction of the sign of a mean gradient, with half the memory."""

    def __init__(self, groups: Iterable[Mapping[str, Any]], *, betas: tuple[float, ...] = (0.9, 0.99)) -> None:
        super().__init__(groups)
        check_betas(betas)
        self.beta1, self.beta2 = betas

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {"exp_avg": torch.zeros_like(parameter)}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
            direction = state["exp_avg"].lerp(gradient, 1 - self.beta1).sign_()
            parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"])
            state["exp_avg"].lerp_(gradient, 1 - self.beta2)
