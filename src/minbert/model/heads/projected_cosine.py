"""Two vectors -> two fully connected layers -> their cosine, scaled to the range. Report E, section 4.

E's figure is missing and its text can be read in two ways. `tied`: both vectors go through both layers, with a ReLU
between (without one the two layers would be one). Not tied: one layer for each vector.
"""

from torch import Tensor, nn
from torch.nn import functional

from minbert.encoder.bert import initialize
from minbert.model.heads.base import HeadContext
from minbert.model.heads.cosine import CosineHead, DropoutPlace, Scaling


class ProjectedCosineHead(CosineHead):
    """Projects two vectors and scales their cosine similarity to the range of the task's scores."""

    def __init__(
        self,
        context: HeadContext,
        *,
        dropout: float = 0.0,
        scaling: Scaling = "relu",
        dropout_on: DropoutPlace = "vectors",
        tied: bool = True,
    ) -> None:
        super().__init__(context, dropout=dropout, scaling=scaling, dropout_on=dropout_on)
        self.tied = tied
        self.first = nn.Linear(context.width, context.width)
        self.second = nn.Linear(context.width, context.width)
        self.apply(initialize)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        u_BD, v_BD = vectors_BD
        if not self.tied:
            return super().forward(self.first(u_BD), self.second(v_BD))
        return super().forward(*(self.second(functional.relu(self.first(x_BD))) for x_BD in (u_BD, v_BD)))
