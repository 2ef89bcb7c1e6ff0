"""What every pairing offers."""

from torch import Tensor, nn

from minbert.batch import Layout, Packed


class Pairing(nn.Module):
    layout: Layout

    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD
