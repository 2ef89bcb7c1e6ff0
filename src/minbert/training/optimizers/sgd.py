"""g <- g + decay theta; b <- momentum b + g; theta <- theta - lr b, or theta - lr (g + momentum b) with nesterov.

Robbins and Monro 1951; momentum: Sutskever et al. 2013. The same numbers as torch.optim.SGD(fused=True).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import OptimizerAlgorithm, ParameterState


class Sgd(OptimizerAlgorithm):
    """Steps along the gradient, with momentum."""

    def __init__(self, groups: Iterable[Mapping[str, Any]], *, momentum: float = 0.9, nesterov: bool = False) -> None:
        super().__init__(groups)
        check_rules({"0 <= momentum < 1": 0 <= momentum < 1, "momentum > 0 for nesterov": momentum > 0 or not nesterov})
        self.momentum = momentum
        self.nesterov = nesterov

    def init_state(self, parameter: Tensor) -> ParameterState:
        # torch starts with the first gradient, which is what 0 becomes; 0 also fits the parameters of a later stage,
        # for which the fused kernel has no first step
        return {"momentum_buffer": torch.zeros_like(parameter)} if self.momentum else {}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        buffers: list[Tensor | None] = [state.get("momentum_buffer") for state in states]
        sgd(
            parameters,
            gradients,
            buffers,
            fused=True,
            weight_decay=group["weight_decay"],
            momentum=self.momentum,
            lr=group["lr"],
            dampening=0.0,
            nesterov=self.nesterov,
            maximize=False,
        )
