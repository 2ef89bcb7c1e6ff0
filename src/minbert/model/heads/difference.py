"""Two vectors u, v -> a linear layer on u - v. Report A's basic pair head (its section 3.1).

Without its bias, exchanging the two texts turns the output's sign: it can learn which of them is more of
something, not how alike they are. `linear` with the feature "|u-v|" can.
"""

from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead


class DifferenceHead(LinearHead):
    def __init__(self, context: HeadContext, *, dropout: float = 0.1) -> None:
        context.demand_pair()
        super().__init__(context, dropout=dropout, features=("u-v",))
