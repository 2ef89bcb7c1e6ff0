"""The two vectors as they are, side by side, for losses that compare all pairs of a batch. Has no parameters."""

import torch
from torch import Tensor

from minbert.model.heads.base import Head, Place


class Vectors(Head):
    emits = "vectors"

    def __init__(self, place: Place) -> None:
        super().__init__()
        place.demand_pair()

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return torch.cat(vectors_BD, 1)
