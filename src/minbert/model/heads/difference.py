"""Two vectors u, v -> a linear layer on drop(u) - drop(v). Report A's basic pair head (its section 3.1).

Dropout is applied to each sentence's vector before the difference, as in the report; `linear` with the feature "u-v"
applies it to the difference. Except for the bias, swapping the two texts flips the sign of the output: it can learn an
order of the texts, but not how similar they are. `linear` with the feature "|u-v|" can.
"""

from torch import Tensor

from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead


class DifferenceHead(LinearHead):
    """Applies dropout to each of two vectors, and a linear layer to their difference u - v."""

    def __init__(self, context: HeadContext, *, dropout: float = 0.1) -> None:
        context.require_pair()
        super().__init__(context, dropout=dropout, features=("u-v",))

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return self.output(self.features(*(self.dropout(vector_BD) for vector_BD in vectors_BD)))  # type: ignore[no-any-return]
