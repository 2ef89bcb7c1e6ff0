"""theta <- (1 - lr decay) theta - lr m^ / (sqrt(v^) + eps), with m^ = m / (1 - beta1^t) and v^ = v / (1 - beta2^t).

Loshchilov and Hutter 2019, Decoupled Weight Decay Regularization, algorithm 2 (arXiv 1711.05101).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from torch import Tensor
from torch.optim.adamw import adamw

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import ParameterState, new_step, state_tensors
from minbert.training.optimizers.moments import MomentOptimizer


class AdamW(MomentOptimizer):
    """Scales each step by running means of the gradient and its square, and decays weights apart from the gradient.

    `implementation`: "torch" is its fused kernel, which is faster, with the numbers of torch.optim.AdamW(fused=True).
    "minbert" is ours. Its bias correction is the efficient form at the end of section 2 of Kingma and Ba 2015, which
    corrects the step size instead of the moments, so eps is added to the uncorrected root. Where eps is negligible the
    two are equal.
    """

    def __init__(
        self,
        groups: Iterable[Mapping[str, Any]],
        *,
        betas: tuple[float, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        correct_bias: bool = True,
        implementation: Literal["torch", "minbert"] = "torch",
    ) -> None:
        super().__init__(groups, betas=betas, eps=eps)
        check_rules(
            {'implementation = "minbert" for correct_bias = false': correct_bias or implementation == "minbert"}
        )
        self.correct_bias = correct_bias
        self.fused = implementation == "torch"

    def init_state(self, parameter: Tensor) -> ParameterState:
        return {**super().init_state(parameter), "step": new_step(parameter.device) if self.fused else 0}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        if not self.fused:
            for parameter, gradient, state in zip(parameters, gradients, states, strict=True):
                self.update_one(parameter, gradient, state, group["lr"], group["weight_decay"])
            return
        adamw(
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

    def update_one(self, parameter: Tensor, gradient: Tensor, state: ParameterState, lr: float, decay: float) -> None:
        """Our own: the decay is scaled by the learning rate and applied first."""
        state["step"] += 1
        state["exp_avg"].lerp_(gradient, 1 - self.beta1)
        state["exp_avg_sq"].mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        step_size = lr
        if self.correct_bias:
            step_size *= math.sqrt(1 - self.beta2 ** state["step"]) / (1 - self.beta1 ** state["step"])
        parameter.mul_(1 - lr * decay)
        parameter.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(self.eps), value=-step_size)
