"""What every pooling offers."""

from torch import Tensor, nn

from minbert.bert import Reads
from minbert.packed import Packed


class Pooling(nn.Module):
    # which token vectors it looks at
    reads: Reads = "all"

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        raise AssertionError("a pooling defines forward")
