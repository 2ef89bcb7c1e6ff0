"""One or more BERT layers of the task's own on top of the shared ones.

"Projected attention on top" in the parameter-adaptation report; a new layer, or a copy of the encoder's last.
"""

from typing import Literal

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import NO_HOOKS, Bert, Layer, initialize
from minbert.model.adapters.base import Adapter


class TopLayer(Adapter):
    """Adds BERT layers of the task's own on top of the shared ones."""

    def __init__(self, bert: Bert, *, layers: int = 1, start: Literal["fresh", "copy"] = "fresh") -> None:
        super().__init__(bert)
        if layers < 1:
            raise ValueError(f"layers {layers} is not at least 1")
        self.layers = nn.ModuleList(Layer(bert.config, bert.dropout_generator) for _ in range(layers))
        self.layers.apply(initialize)
        if start == "copy":
            for layer in self.layers:
                layer.load_state_dict(bert.layers[-1].state_dict())

    def on_output(self, x_TD: Tensor, packed: Packed) -> Tensor:
        for layer in self.layers:
            x_TD = layer(x_TD, packed, NO_HOOKS, 0)
        return x_TD
