"""A low-rank linear branch parallel to each layer: TS(h) = V^D V^E h.

Stickland and Murray 2019 (there with an activation), https://arxiv.org/abs/1902.02671
"""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert
from minbert.model.adapters.base import Activation, Adapter, Bottleneck, BottleneckStart


class LowRank(Adapter):
    """Adds a low-rank linear branch parallel to each layer."""

    def __init__(
        self,
        bert: Bert,
        *,
        size: int = 204,
        activation: Activation = "none",
        start: BottleneckStart = "zero",
        bias: bool = False,
    ) -> None:
        super().__init__(bert)
        config = bert.config
        self.layers = nn.ModuleList(
            Bottleneck(config.hidden_size, size, activation, start, bias) for _ in range(config.num_hidden_layers)
        )

    def parallel_branch(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.layers[layer](x_TD)  # type: ignore[no-any-return]
