"""The mean over all tokens of the sequence, including special tokens (as in sentence-transformers)."""

from torch import Tensor

from minbert.data.packed import Packed
from minbert.model.poolings.base import Pooling


class MeanPooling(Pooling):
    """Takes the mean of all token vectors."""

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        lengths_S = packed.lengths_S.to(x_TD.dtype)
        sums_SD = x_TD.new_zeros(len(lengths_S), x_TD.shape[1]).index_add(0, packed.sequence_T, x_TD)
        return sums_SD / lengths_S[:, None]
