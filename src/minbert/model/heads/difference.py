"""Two vectors u, v -> a linear layer on u - v. Report A's basic pair head (its section 3.1).

Except for the bias, swapping the two texts flips the sign of the output: it can learn an order of the texts, but not
how similar they are. `linear` with the feature "|u-v|" can.
"""

from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead


class DifferenceHead(LinearHead):
    """Applies a linear layer to the difference u - v of two vectors."""

    def __init__(self, context: HeadContext, *, dropout: float = 0.1) -> None:
        context.require_pair()
        super().__init__(context, dropout=dropout, features=("u-v",))
