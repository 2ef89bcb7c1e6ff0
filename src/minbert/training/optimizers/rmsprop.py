"""g <- g + decay theta; v <- alpha v + (1 - alpha) g^2; theta <- theta - lr g / (sqrt(v) + eps).

Tieleman and Hinton 2012, lecture 6.5 of their course. The same numbers as torch.optim.RMSprop.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.rmsprop import rmsprop

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import OptimizerAlgorithm, ParameterState, new_step, state_tensors


class RMSprop(OptimizerAlgorithm):
    """Divides the gradient by the root of a running mean of its square, without momentum."""

    def __init__(self, groups: Iterable[Mapping[str, Any]], *, alpha: float = 0.99, eps: float = 1e-8) -> None:
        super().__init__(groups)
        check_rules({"0 <= alpha < 1": 0 <= alpha < 1, "eps > 0": eps > 0})
        self.alpha = alpha
        self.eps = eps

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {"step": new_step(), "square_avg": torch.zeros_like(parameter)}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        rmsprop(
            parameters,
            gradients,
            state_tensors(states, "square_avg"),
            [],
            [],
            state_tensors(states, "step"),
            lr=group["lr"],
            alpha=self.alpha,
            eps=self.eps,
            weight_decay=group["weight_decay"],
            momentum=0.0,
            centered=False,
        )
