"""The two vectors as they are, side by side, for losses that compare all pairs of a batch. Has no parameters."""

import torch
from torch import Tensor

from minbert.model.heads.base import Head, HeadContext


class VectorsHead(Head):
    emits = "vectors"

    def __init__(self, context: HeadContext) -> None:
        super().__init__()
        context.demand_pair()

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return torch.cat(vectors_BD, 1)
