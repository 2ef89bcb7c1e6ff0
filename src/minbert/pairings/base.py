"""What every pairing offers."""

from torch import Tensor, nn

from minbert.batch import Layout
from minbert.bert import Reads
from minbert.packed import Packed


class Pairing(nn.Module):
    layout: Layout
    # which token vectors it looks at itself: the two simplest pass on what they get
    reads: Reads = "first"

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD
