"""A bottleneck after attention and after feed-forward in each layer, before the residual: A(y) = y + V^D GELU(V^E y).

Houlsby et al. 2019, https://arxiv.org/abs/1902.00751
"""

from torch import Tensor, nn

from minbert.encoder.bert import Bert
from minbert.model.adapters.base import Activation, Adapter, Bottleneck, BottleneckStart


class Houlsby(Adapter):
    """Adds a bottleneck after attention and after feed-forward in each layer."""

    def __init__(
        self,
        bert: Bert,
        *,
        size: int = 204,
        activation: Activation = "gelu",
        start: BottleneckStart = "zero",
        bias: bool = False,
    ) -> None:
        super().__init__(bert)
        config = bert.config

        def one_per_layer() -> nn.ModuleList:
            return nn.ModuleList(
                Bottleneck(config.hidden_size, size, activation, start, bias) for _ in range(config.num_hidden_layers)
            )

        self.after_attention = one_per_layer()
        self.after_feed_forward = one_per_layer()

    def on_attention(self, layer: int, y_TD: Tensor) -> Tensor:
        return y_TD + self.after_attention[layer](y_TD)  # type: ignore[no-any-return]

    def on_feed_forward(self, layer: int, y_TD: Tensor) -> Tensor:
        return y_TD + self.after_feed_forward[layer](y_TD)  # type: ignore[no-any-return]
