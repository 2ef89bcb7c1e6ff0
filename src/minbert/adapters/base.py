"""What every adapter offers: it fills some of the encoder's ports for one task's tokens.

T tokens, D width of the encoder, Z size of the adapter.
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from minbert.bert import Bert, Linear, Ports, initialise

Activation = Literal["none", "gelu", "relu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "gelu": functional.gelu,
    "relu": functional.relu,
}


class Adapter(nn.Module, Ports):
    def __init__(self, bert: Bert) -> None:
        super().__init__()


class Bottleneck(nn.Module):
    """D -> Z -> D. The way back starts at zero, so that a fresh adapter changes nothing."""

    def __init__(self, width: int, size: int, activation: Activation) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size {size} is not at least 1")
        self.down = Linear(width, size, bias=False)
        self.up = Linear(size, width, bias=False)
        self.activation = ACTIVATIONS[activation]
        initialise(self.down)
        nn.init.zeros_(self.up.weight)

    def forward(self, x_TD: Tensor) -> Tensor:
        return self.up(self.activation(self.down(x_TD)))  # type: ignore[no-any-return]
