"""Low-rank updates of the query and value matrices: W x + (alpha / r) B A x.

Hu et al. 2021, https://arxiv.org/abs/2106.09685
"""

import math

import torch
from torch import Tensor, nn

from minbert.encoder.bert import Bert, DtypeLinear
from minbert.encoder.dropout import Dropout
from minbert.model.adapters.base import Adapter

MATRICES = ("query", "key", "value")


class Lora(Adapter):
    """Adds low-rank updates to the query and value matrices (LoRA)."""

    def __init__(
        self,
        bert: Bert,
        *,
        rank: int = 8,
        alpha: float = 16.0,
        matrices: tuple[str, ...] = ("query", "value"),
        dropout: float = 0.0,
    ) -> None:
        super().__init__(bert)
        if rank < 1 or not matrices or not set(matrices) <= set(MATRICES):
            raise ValueError(f"needs rank >= 1 and matrices from {', '.join(MATRICES)}")
        width, layers = bert.config.hidden_size, bert.config.num_hidden_layers
        self.matrices = [part in matrices for part in MATRICES]
        self.rank, self.scale = rank, alpha / rank
        self.dropout = Dropout(dropout, bert.dropout_generator)
        count = sum(self.matrices)
        # the A of all matrices in one product, and one B per matrix
        self.down = nn.ModuleList(DtypeLinear(width, count * rank, bias=False) for _ in range(layers))
        self.up = nn.ParameterList(torch.zeros(count, rank, width) for _ in range(layers))
        for down in self.down:
            assert isinstance(down, DtypeLinear)
            nn.init.kaiming_uniform_(down.weight, a=math.sqrt(5))

    def on_qkv(self, layer: int, x_TD: Tensor, qkv_TW: Tensor) -> Tensor:
        down_CTR = self.down[layer](self.dropout(x_TD)).unflatten(1, (-1, self.rank)).transpose(0, 1)
        changes = iter(torch.bmm(down_CTR, self.up[layer].to(x_TD.dtype)) * self.scale)
        parts = qkv_TW.chunk(3, 1)
        return torch.cat(
            [part + next(changes) if changed else part for part, changed in zip(parts, self.matrices, strict=True)], 1
        )
