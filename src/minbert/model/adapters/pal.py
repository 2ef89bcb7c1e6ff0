"""Projected attention layers: a small attention branch parallel to each layer, TS(h) = g(V^D MH_l(V^E h)).

V^E and V^D are shared by all layers of the task; each layer has its own query, key and value matrices and no output
matrix: 2 Z D parameters, plus 3 Z^2 per layer; with biases Z + D more, plus 3 Z per layer. Stickland and Murray 2019, https://arxiv.org/abs/1902.02671
"""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.attention import attend
from minbert.encoder.bert import Bert, DtypeLinear, initialize
from minbert.encoder.dropout import Dropout
from minbert.model.adapters.base import Activation, Adapter, Bottleneck, BottleneckStart, activation_of


class Pal(Adapter):
    """Adds a small attention branch parallel to each layer (projected attention layers)."""

    def __init__(
        self,
        bert: Bert,
        *,
        size: int = 204,
        heads: int = 12,
        activation: Activation = "gelu",
        start: BottleneckStart = "zero",
        bias: bool = False,
    ) -> None:
        super().__init__(bert)
        if heads < 1 or size % heads:
            near = max(1, round(size / max(1, heads))) * max(1, heads)
            raise ValueError(f"{heads} heads do not divide the size {size}; for example, use size = {near}")
        config = bert.config
        self.heads = heads
        self.around = Bottleneck(config.hidden_size, size, "none", start, bias)
        self.asking = nn.ModuleList(DtypeLinear(size, 3 * size, bias=bias) for _ in range(config.num_hidden_layers))
        self.dropout = Dropout(config.attention_probs_dropout_prob, bert.dropout_generator)
        self.activation = activation_of(activation)
        self.asking.apply(initialize)

    def parallel_branch(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor:
        qkv_TW = self.asking[layer](self.around.down(x_TD))
        rate, generator = self.dropout.rate_now, self.dropout.generator
        mixed_TZ = attend(None, qkv_TW, packed.grid, packed.grid, self.heads, rate, generator)
        return self.activation(self.around.up(mixed_TZ))
