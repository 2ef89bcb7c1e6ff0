"""Two vectors -> their cosine similarity, scaled to the range of the task's scores. Has no parameters.

The scalings are those of the reports: A `shift`, E `relu`, C `sigmoid`; `raw` is for losses that ignore the scale.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from minbert.encoder.dropout import Dropout
from minbert.model.heads.base import Head, HeadContext

Scaling = Literal["shift", "relu", "sigmoid", "raw"]
DropoutPlace = Literal["vectors", "cosine"]
# a cosine in [-1, 1] -> a fraction of the range in [0, 1], or the cosine itself
SCALINGS: dict[Scaling, Callable[[Tensor], Tensor]] = {
    "shift": lambda cosine: (cosine + 1) / 2,
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
    "raw": lambda cosine: cosine,
}


class CosineHead(Head):
    """Scales the cosine similarity of two vectors to the range of the task's scores."""

    def __init__(
        self,
        context: HeadContext,
        *,
        dropout: float = 0.0,
        scaling: Scaling = "shift",
        dropout_on: DropoutPlace = "vectors",
    ) -> None:
        """`dropout_on`: the two vectors, or the cosine itself, which is then 0 in some passes."""
        super().__init__()
        context.require_pair()
        if context.task.kind != "score":
            raise ValueError('outputs a score, but the task is of kind "classify": use the head "linear"')
        self.output_kind = "cosine" if scaling == "raw" else "score"
        self.low, self.high = (0.0, 1.0) if scaling == "raw" else context.task.range
        self.scale = SCALINGS[scaling]
        self.dropout = Dropout(dropout, context.dropout_generator)
        self.dropout_on = dropout_on

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        u_BD, v_BD = (self.dropout(x_BD) if self.dropout_on == "vectors" else x_BD for x_BD in vectors_BD)
        cosine_B = functional.cosine_similarity(u_BD, v_BD, dim=1)
        if self.dropout_on == "cosine":
            cosine_B = self.dropout(cosine_B)
        fraction_B = self.scale(cosine_B)
        return (self.low + fraction_B * (self.high - self.low))[:, None]
