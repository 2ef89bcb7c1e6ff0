"""What every average offers: a mean of the weights over the steps, which is measured and kept in place of the last."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from minbert.model.multitask import Model


class Average:
    def __init__(self, model: Model) -> None:
        self.model = model
        # nothing while there is no mean yet: the weights as they are
        self.mean: dict[str, torch.Tensor] = {}

    def stepped(self, step: int, total: int) -> None:
        """After update number `step` (1, 2, ...) of `total`."""
        raise AssertionError("an average defines stepped")

    @torch.no_grad()
    def take(self, share: float) -> None:
        """Let the weights as they are now make up this share of the mean; the first ones are all of it."""
        for name, own in self.model.named_parameters():
            if name in self.mean:
                self.mean[name].lerp_(own, share)
            else:
                self.mean[name] = own.detach().clone()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the mean weights; after it, its own again."""
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
        # copies, which the mean may go on in
        self.mean = {name: mean.to(self.model.device, copy=True) for name, mean in state["mean"].items()}
