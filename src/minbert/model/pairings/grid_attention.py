"""Attention between the tokens of two grids: within a text, or from one text of a pair to the other.

T tokens, D width.
"""

from torch import Tensor, nn

from minbert.data.packed import Grid
from minbert.encoder.attention import attend
from minbert.encoder.bert import Bert, DtypeLinear, initialize
from minbert.encoder.dropout import Dropout


class GridAttention(nn.Module):
    """Multi-head attention of the encoder's width, without its last linear layer."""

    def __init__(self, bert: Bert, heads: int, dropout: float, bias: bool) -> None:
        super().__init__()
        width = bert.config.hidden_size
        if heads < 1 or width % heads:
            raise ValueError(f"{heads} heads do not divide the width {width}")
        self.heads = heads
        self.query = DtypeLinear(width, width, bias=bias)
        self.key_value = DtypeLinear(width, 2 * width, bias=bias)
        self.dropout = Dropout(dropout, bert.dropout_generator)
        self.apply(initialize)

    def forward(self, x_TD: Tensor, queries: Grid, keys: Grid) -> Tensor:
        rate, generator = self.dropout.rate_now, self.dropout.generator
        return attend(self.query(x_TD), self.key_value(x_TD), queries, keys, self.heads, rate, generator)
