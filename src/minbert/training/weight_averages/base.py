"""The interface of weight averaging: a mean of the weights over the steps, which is evaluated and saved."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from minbert.model.multitask import Model


class Average:
    def __init__(self, model: Model) -> None:
        self.model = model
        # empty before the first weights were added; then the model's own weights are used
        self.mean: dict[str, torch.Tensor] = {}

    def after_step(self, step: int, total: int) -> None:
        """Called after update number `step` (1, 2, ...) of `total`."""
        raise AssertionError("an average defines after_step")

    @torch.no_grad()
    def add_weights(self, fraction: float) -> None:
        """Let the current weights make up this fraction of the mean; the first ones become the mean."""
        for name, own in self.model.named_parameters():
            if name in self.mean:
                self.mean[name].lerp_(own, fraction)
            else:
                self.mean[name] = own.detach().clone()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the mean weights; afterwards, its own again."""
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            kept = {name: own[name].clone() for name in self.mean}
            for name, mean in self.mean.items():
                own[name].copy_(mean)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, was in kept.items():
                    own[name].copy_(was)

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean}

    def restore(self, state: dict[str, Any]) -> None:
        # copies, because the mean is updated in place
        self.mean = {name: mean.to(self.model.device, copy=True) for name, mean in state["mean"].items()}
