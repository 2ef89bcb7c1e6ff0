"""The vector of the first token, [CLS]."""

from torch import Tensor

from minbert.data.packed import Packed
from minbert.model.poolings.base import Pooling


class ClsPooling(Pooling):
    """Takes the vector of the first token, [CLS]."""

    reads = "first"

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD.index_select(0, packed.starts_S)
