"""The vectors of the tokens that a head asks for: one for each of them, not one a sequence."""

from torch import Tensor

from minbert.data.packed import Packed
from minbert.model.poolings.base import Pooling


class MaskedTokensPooling(Pooling):
    tokens = True

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        assert packed.masked_M is not None
        return x_TD.index_select(0, packed.masked_M)
