"""Two vectors u, v -> (P u) . (P v), with one projection P for both. Report D, sections 3.3 and 5.1.

D's product has neither scale nor bias, so similar vectors give large positive numbers. The loss `pearson` ignores the
scale. For the logits of `bce`, `scaled` divides by the square root of the size, as attention does (Vaswani et al.
2017), and `bias` adds a learned number.

B examples, D width of a vector, P width of a projection.
"""

import math

import torch
from torch import Tensor, nn

from minbert.encoder.bert import initialize
from minbert.model.heads.base import Head, HeadContext


class DotHead(Head):
    """Projects two vectors and takes their dot product."""

    output_kind = "logits"

    def __init__(
        self, context: HeadContext, *, size: int | None = None, scaled: bool = False, bias: bool = False
    ) -> None:
        """`size`: the width of the projections; by default that of a vector."""
        super().__init__()
        context.require_pair()
        if context.num_outputs != 1:
            raise ValueError(
                f"outputs one number, but the loss needs {context.num_outputs}: use another head, or the loss 'bce'"
            )
        if size is not None and size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self.projection = nn.Linear(context.width, size or context.width, bias=False)
        initialize(self.projection)
        self.divisor = math.sqrt(self.projection.out_features) if scaled else 1.0
        self.bias = nn.Parameter(torch.zeros(1)) if bias else None

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        u_BP, v_BP = (self.projection(vector_BD) for vector_BD in vectors_BD)
        product_B1: Tensor = (u_BP * v_BP).sum(1, keepdim=True) / self.divisor
        return product_B1 if self.bias is None else product_B1 + self.bias
