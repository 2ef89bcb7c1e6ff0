"""theta <- (1 - lr decay) theta - max(eps, RMS(theta)) min(lr, 1 / sqrt(t)) u / max(1, RMS(u) / clipping_threshold).

u = g / sqrt(v), where v of a matrix is the product of the running means of g^2 over its rows and over its columns, with
beta2 = 1 - t^beta2_decay. Shazeer and Stern 2018 (arXiv 1804.04235). The same numbers as torch.optim.Adafactor.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim._adafactor import adafactor

from minbert.config.schema import check_rules
from minbert.training.optimizers.base import OptimizerAlgorithm, ParameterState, new_step, state_tensors


class Adafactor(OptimizerAlgorithm):
    """Scales each step by the size of the weights, and keeps only row and column means of the squared gradient."""

    def __init__(
        self,
        groups: Iterable[Mapping[str, Any]],
        *,
        beta2_decay: float = -0.8,
        eps: float = 1e-3,
        clipping_threshold: float = 1.0,
    ) -> None:
        super().__init__(groups)
        check_rules(
            {
                "beta2_decay <= 0": beta2_decay <= 0,
                "eps >= 0": eps >= 0,
                "clipping_threshold >= 1": clipping_threshold >= 1,
            }
        )
        self.beta2_decay = beta2_decay
        self.eps = eps
        self.clipping_threshold = clipping_threshold

    def init_state(self, parameter: Tensor) -> ParameterState:
        if parameter.ndim < 2:
            return {"step": new_step(), "variance": torch.zeros_like(parameter)}
        rows, columns = torch.zeros_like(parameter[..., :1]), torch.zeros_like(parameter[..., :1, :])
        return {"step": new_step(), "row_var": rows, "col_var": columns}

    def update(
        self,
        parameters: list[Tensor],
        gradients: list[Tensor],
        states: Sequence[ParameterState],
        group: Mapping[str, Any],
    ) -> None:
        adafactor(
            parameters,
            gradients,
            [state.get("row_var") for state in states],
            [state.get("col_var") for state in states],
            [state.get("variance") for state in states],
            state_tensors(states, "step"),
            d=self.clipping_threshold,
            lr=group["lr"],
            beta2_decay=self.beta2_decay,
            weight_decay=group["weight_decay"],
            # torch's default: the square of a gradient this small is lost in sums
            eps1=torch.finfo(parameters[0].dtype).eps,
            eps2=self.eps,
            maximize=False,
        )
