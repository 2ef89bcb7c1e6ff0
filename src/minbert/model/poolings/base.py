"""What every pooling offers."""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Reads


class Pooling(nn.Module):
    # which token vectors it looks at
    reads: Reads = "all"
    # whether it gives a vector for each of some tokens instead of one a sequence
    tokens = False

    def __init__(self, bert: Bert) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        raise AssertionError("a pooling defines forward")
