"""AdamW's step times r_t, which rises from 0 to 1 with the number of squares that v averages; before, lr m^ alone.

Liu et al. 2020, On the Variance of the Adaptive Learning Rate and Beyond (arXiv 1908.03265). The same numbers as
torch.optim.RAdam(decoupled_weight_decay=True).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.optim.radam import radam

from minbert.training.optimizers.base import ParameterState, state_tensors
from minbert.training.optimizers.moments import MomentOptimizer


class RAdam(MomentOptimizer):
    """Takes AdamW's steps, rectified while the mean of the squares is still uncertain, as a warmup of its own."""

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        radam(
            parameters,
            gradients,
            state_tensors(states, "exp_avg"),
            state_tensors(states, "exp_avg_sq"),
            state_tensors(states, "step"),
            decoupled_weight_decay=True,
            beta1=self.beta1,
            beta2=self.beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=self.eps,
        )
