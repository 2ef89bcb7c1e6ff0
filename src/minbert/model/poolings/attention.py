"""The mean of all tokens of the sequence, weighted by the softmax of a learned score w . x. Report A, equation 3.

Report A does not say how it scores a token. A bias would be the same for all tokens, so it would have no effect.
"""

import torch
from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, initialize
from minbert.model.poolings.base import Pooling


class AttentionPooling(Pooling):
    """Takes the mean of all token vectors, weighted by a learned attention score."""

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        self.score = nn.Linear(bert.config.hidden_size, 1, bias=False)
        # small scores: it starts close to the plain mean
        initialize(self.score)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        S, sequence_T = len(packed.lengths_S), packed.sequence_T
        score_T1 = self.score(x_TD)
        # softmax does not change if scores are shifted, and exp of numbers below 0 does not overflow
        lowest_S1 = score_T1.new_full((S, 1), -torch.inf)
        highest_S1 = lowest_S1.scatter_reduce(0, sequence_T[:, None], score_T1.detach(), "amax")
        weight_T1 = (score_T1 - highest_S1[sequence_T]).exp()
        sum_S1 = weight_T1.new_zeros(S, 1).index_add(0, sequence_T, weight_T1)
        sum_SD = x_TD.new_zeros(S, x_TD.shape[1]).index_add(0, sequence_T, weight_T1 * x_TD)
        return torch.div(sum_SD, sum_S1)
