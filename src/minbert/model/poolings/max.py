"""The maximum of each dimension over all tokens of the sequence, including special tokens. Report E, section 4."""

import torch
from torch import Tensor

from minbert.data.packed import Packed
from minbert.model.poolings.base import Pooling


class MaxPooling(Pooling):
    """Takes the maximum of each dimension over all tokens."""

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        lowest_SD = x_TD.new_full((len(packed.lengths_S), x_TD.shape[1]), -torch.inf)
        # tokens that share the maximum share its gradient
        return lowest_SD.scatter_reduce(0, packed.sequence_T[:, None].expand_as(x_TD), x_TD, "amax")
