"""The vector of the first token, [CLS]."""

from torch import Tensor

from minbert.batch import Packed
from minbert.poolings.base import Pooling


class Cls(Pooling):
    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD[packed.starts_S]
