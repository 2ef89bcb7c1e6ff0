"""g <- g + decay theta, then theta <- theta - lr m^ / (sqrt(v^) + eps), with the corrected means m^ and v^ of AdamW.

Kingma and Ba 2015, Adam (arXiv 1412.6980). The same numbers as torch.optim.Adam(fused=True).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.optim.adam import adam

from minbert.training.optimizers.base import ParameterState, new_step, state_tensors
from minbert.training.optimizers.moments import MomentOptimizer


class Adam(MomentOptimizer):
    """Scales each step by running means of the gradient and its square, with weight decay as a part of the gradient."""

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {**super().init_state(parameter), "step": new_step(parameter.device)}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        adam(
            parameters,
            gradients,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            [],
            state_tensors(states, "step"),
            fused=True,
            amsgrad=False,
            beta1=self.beta1,
            beta2=self.beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=self.eps,
            maximize=False,
        )
