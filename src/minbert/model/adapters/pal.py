"""Projected attention layers: beside each layer a small attention, TS(h) = g(V^D MH_l(V^E h)).

V^E and V^D are shared by all layers of the task; each layer has query, key and value matrices of its own and
no output matrix: 2 Z D + 3 Z^2 a layer. Stickland and Murray 2019, https://arxiv.org/abs/1902.02671
"""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.attention import attend
from minbert.encoder.bert import Bert, Linear, initialise
from minbert.encoder.dropout import Dropout
from minbert.model.adapters.base import Activation, Adapter, Bottleneck, activation_of


class Pal(Adapter):
    def __init__(self, bert: Bert, *, size: int = 204, heads: int = 12, activation: Activation = "gelu") -> None:
        super().__init__(bert)
        if heads < 1 or size % heads:
            near = max(1, round(size / max(1, heads))) * max(1, heads)
            raise ValueError(f"{heads} heads do not divide the size {size}; take for example size = {near}")
        shape = bert.shape
        self.heads = heads
        self.around = Bottleneck(shape.width, size, "none")
        self.asking = nn.ModuleList(Linear(size, 3 * size, bias=False) for _ in range(shape.layers))
        self.dropout = Dropout(shape.attention_dropout, bert.noise)
        self.activation = activation_of(activation)
        self.asking.apply(initialise)

    def beside(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor:
        qkv_TW = self.asking[layer](self.around.down(x_TD))
        rate, noise = self.dropout.rate_now, self.dropout.noise
        mixed_TZ = attend(None, qkv_TW, packed.grid, packed.grid, self.heads, rate, noise)
        return self.activation(self.around.up(mixed_TZ))
