"""Each hidden unit of the feed-forward blocks is scaled: h * 2 sigmoid(a), a = 0 at first, so between 0 and 2 times.

Learning hidden unit contributions, Swietojanski and Renals 2014, https://doi.org/10.1109/SLT.2014.7078569

T tokens, F width of the feed-forward block.
"""

import torch
from torch import Tensor, nn

from minbert.encoder.bert import Bert
from minbert.model.adapters.base import Adapter


class Lhuc(Adapter):
    """Scales each hidden unit of the feed-forward blocks by a learned factor (LHUC)."""

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        config = bert.config
        # one vector per layer: vectors have no weight decay
        self.amplitudes = nn.ParameterList(
            torch.zeros(config.intermediate_size) for _ in range(config.num_hidden_layers)
        )

    def on_hidden(self, layer: int, h_TF: Tensor) -> Tensor:
        return h_TF * (2 * torch.sigmoid(self.amplitudes[layer])).to(h_TF.dtype)
