"""The interface of a pooling: the token vectors of each sequence -> one vector."""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Reads


class Pooling(nn.Module):
    # which token vectors it needs
    reads: Reads = "all"
    # whether it returns one vector per masked token instead of one per sequence
    per_token = False

    def __init__(self, bert: Bert) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        raise AssertionError("a pooling defines forward")
