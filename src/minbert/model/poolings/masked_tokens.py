"""The vectors of the masked tokens: one per masked token, not one per sequence."""

from torch import Tensor

from minbert.data.packed import Packed
from minbert.model.poolings.base import Pooling


class MaskedTokensPooling(Pooling):
    """Takes the vectors of the masked tokens, for the head mlm."""

    per_token = True

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        assert packed.masked_M is not None
        return x_TD.index_select(0, packed.masked_M)
