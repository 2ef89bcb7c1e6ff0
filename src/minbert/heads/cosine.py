"""Two vectors -> their cosine, scaled to the range of the task's scores. Has no parameters."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from minbert.heads.base import Head, Place

# a cosine in [-1, 1] -> a share in [0, 1]
SCALINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "shift": lambda cosine: (cosine + 1) / 2,
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
}


class Cosine(Head):
    emits = "score"

    def __init__(self, place: Place, *, scaling: Literal["shift", "relu", "sigmoid"] = "shift") -> None:
        super().__init__()
        if place.vectors != 2:
            raise ValueError('needs two vectors: set pairing = "apart", or take the head "linear"')
        if place.task.kind != "score":
            raise ValueError('gives a score, but the task is of kind "classify": take the head "linear"')
        self.low, self.high = place.task.range
        self.scale = SCALINGS[scaling]

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        u_BD, v_BD = vectors_BD
        share_B = self.scale(functional.cosine_similarity(u_BD, v_BD, dim=1))
        return (self.low + share_B * (self.high - self.low))[:, None]
