"""The interface of an adapter: it implements some of the encoder's hooks for one task.

T tokens, D width of the encoder, F width of its feed-forward block, Z size of the adapter.
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from minbert.encoder.bert import ACTIVATIONS, Bert, DtypeLinear, EncoderHooks, initialize

Activation = Literal["none", "gelu", "relu"]
# of the matrix that a bottleneck ends with
BottleneckStart = Literal["zero", "normal"]


def activation_of(name: Activation) -> Callable[[Tensor], Tensor]:
    return nn.Identity() if name == "none" else ACTIVATIONS[name]


class Adapter(nn.Module, EncoderHooks):
    # whether it needs the part-of-speech tags of a batch
    wants_tags = False

    def __init__(self, bert: Bert) -> None:
        super().__init__()


class Bottleneck(nn.Module):
    """D -> Z -> D.

    Its second matrix starts at zero, so that a new adapter changes nothing, or from N(0, 0.02) like the first, as in
    https://github.com/AsaCooperStickland/Bert-n-Pals. Biases start at zero.
    """

    def __init__(self, width: int, size: int, activation: Activation, start: BottleneckStart, bias: bool) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size {size} is not at least 1")
        self.down = DtypeLinear(width, size, bias=bias)
        self.up = DtypeLinear(size, width, bias=bias)
        self.activation = activation_of(activation)
        initialize(self.down)
        if start == "normal":
            initialize(self.up)
        else:
            for parameter in self.up.parameters():
                nn.init.zeros_(parameter)

    def forward(self, x_TD: Tensor) -> Tensor:
        return self.up(self.activation(self.down(x_TD)))  # type: ignore[no-any-return]
