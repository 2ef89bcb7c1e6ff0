"""The encoder's weights are pulled towards their pretrained values: weight / 2 * sum of (theta - theta_0)^2.

L2-SP, Li, Grandvalet and Davoine 2018, https://arxiv.org/abs/1802.01483
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from minbert.data.batch import Batch
from minbert.model.multitask import Model
from minbert.training.regularizers.base import Regularizer


class TowardsStart(Regularizer):
    """Pulls the encoder's weights towards their pretrained values instead of towards 0 (L2-SP)."""

    def __init__(self, model: Model, task: str, seed: int, *, weight: float = 0.01) -> None:
        super().__init__(model, task, seed)
        if weight <= 0:
            raise ValueError(f"weight {weight} is not above 0")
        self.weight = weight
        self.start = {name: parameter.detach().clone() for name, parameter in model.bert.named_parameters()}

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor | None:
        # mse_loss keeps no copy of the differences for the backward pass
        squares = [
            functional.mse_loss(parameter, self.start[name], reduction="sum")
            for name, parameter in self.model.bert.named_parameters()
            if parameter.requires_grad
        ]
        return self.weight / 2 * torch.stack(squares).sum() if squares else None

    def state(self) -> dict[str, Any]:
        return {"start": self.start}

    def restore(self, state: dict[str, Any]) -> None:
        for name, start in state["start"].items():
            self.start[name].copy_(start)
