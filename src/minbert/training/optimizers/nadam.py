"""AdamW with m^ = mu_(t+1) m / (1 - mu_1 ... mu_(t+1)) + (1 - mu_t) g / (1 - mu_1 ... mu_t).

mu_t = beta1 (1 - .96^(t momentum_decay) / 2). Dozat 2016, Incorporating Nesterov Momentum into Adam. The same numbers
as torch.optim.NAdam(decoupled_weight_decay=True).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.nadam import nadam

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import ParameterState, state_tensors
from minbert.training.optimizers.moments import MomentOptimizer


class NAdam(MomentOptimizer):
    """Takes AdamW's steps with Nesterov momentum, which looks one step ahead."""

    def __init__(
        self,
        groups: Iterable[Mapping[str, Any]],
        *,
        betas: tuple[float, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        momentum_decay: float = 4e-3,
    ) -> None:
        super().__init__(groups, betas=betas, eps=eps)
        check_rules({"momentum_decay >= 0": momentum_decay >= 0})
        self.momentum_decay = momentum_decay

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {**super().init_state(parameter), "mu_product": torch.ones((), dtype=torch.float32)}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        nadam(
            parameters,
            gradients,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            state_tensors(states, "mu_product"),
            state_tensors(states, "step"),
            decoupled_weight_decay=True,
            beta1=self.beta1,
            beta2=self.beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum_decay=self.momentum_decay,
            eps=self.eps,
        )
