"""The two vectors, concatenated, for losses that compare all pairs of a batch. Has no parameters."""

import torch
from torch import Tensor

from minbert.model.heads.base import Head, HeadContext


class VectorsHead(Head):
    """Passes both vectors on to a loss that compares all pairs of a batch."""

    output_kind = "vectors"

    def __init__(self, context: HeadContext) -> None:
        super().__init__()
        context.require_pair()

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return torch.cat(vectors_BD, 1)
