"""What every pooling offers."""

from torch import Tensor, nn

from minbert.batch import Packed


class Pooling(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        raise AssertionError("a pooling defines forward")
