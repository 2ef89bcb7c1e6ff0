"""In each pass a random part of the encoder's matrices has its pretrained weights: dropout towards theta_0, not 0.

theta_0 + (theta - theta_0) m, m = 0 with probability `rate`, else 1 / (1 - rate): the expected value is theta.
Lee, Cho and Kang 2020, https://arxiv.org/abs/1909.11299
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from minbert.encoder.dropout import DropoutGenerator
from minbert.model.multitask import Model
from minbert.training.regularizers.base import Regularizer


class Mixout(Regularizer):
    """Randomly resets a fraction of the encoder's weights to their pretrained values in each pass."""

    def __init__(self, model: Model, task: str, seed: int, *, rate: float = 0.1) -> None:
        super().__init__(model, task, seed)
        if not 0 < rate < 1:
            raise ValueError(f"rate {rate} is not between 0 and 1")
        self.rate = rate
        self.generator = DropoutGenerator(self.seed)
        self.start = {
            f"bert.{name}.weight": module.weight.detach().clone()
            for name, module in model.bert.named_modules()
            if isinstance(module, nn.Linear)
        }

    def weights(self) -> Mapping[str, Tensor]:
        self.generator.to(self.model.device)
        own = {name: self.model.get_parameter(name) for name in self.start}
        # frozen weights stay as they are
        return {
            name: torch.addcmul(self.start[name], weight - self.start[name], self.generator.mask(weight, self.rate))
            for name, weight in own.items()
            if weight.requires_grad
        }

    def state(self) -> dict[str, Any]:
        return {"generator": self.generator.state(), "start": self.start}

    def restore(self, state: dict[str, Any]) -> None:
        self.generator.to(self.model.device)
        self.generator.restore(state["generator"])
        for name, start in state["start"].items():
            self.start[name].copy_(start)
