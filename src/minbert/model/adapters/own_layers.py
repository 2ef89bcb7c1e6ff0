"""The highest layers of the encoder, copied for one task: the task's tokens pass through the copies instead.

The encoder side of soft parameter sharing (Duong et al. 2015, https://aclanthology.org/P15-2139); the regularizer
`soft_sharing` keeps the copies of several tasks close to each other.
"""

from collections.abc import Iterable

from torch import nn

from minbert.encoder.bert import Bert, Layer
from minbert.encoder.init import empty_weights
from minbert.model.adapters.base import Adapter


class OwnLayers(Adapter):
    """Replaces the highest layers of the encoder, or all, by copies that belong to the task."""

    def __init__(self, bert: Bert, *, layers: int | None = None) -> None:
        super().__init__(bert)
        total = bert.config.num_hidden_layers
        count = total if layers is None else layers
        if not 1 <= count <= total:
            raise ValueError(f"layers {count} is not between 1 and {total}, the number of layers of the encoder")
        self.first = total - count
        self.layers = nn.ModuleList(copy_layer(bert, number) for number in range(self.first, total))

    def layer_for(self, number: int, layer: Layer) -> Layer:
        if number < self.first:
            return layer
        own = self.layers[number - self.first]
        assert isinstance(own, Layer)
        return own

    def train(self, mode: bool = True) -> "OwnLayers":
        # dropout in frozen layers would only add noise to fixed features
        return super().train(mode and any(parameter.requires_grad for parameter in self.parameters()))


def copy_layer(bert: Bert, number: int) -> Layer:
    """A layer with the same weights and the same dropout generator."""
    with empty_weights():
        layer = Layer(bert.config, bert.dropout_generator)
    weights = {name: weight.clone() for name, weight in bert.layers[number].state_dict().items()}
    layer.load_state_dict(weights, assign=True)
    return layer


def own_layers_of(adapters: Iterable[nn.Module]) -> dict[int, nn.Module]:
    """The layers that a task with these adapters uses instead of the encoder's, by their number."""
    own = [adapter for adapter in adapters if isinstance(adapter, OwnLayers)]
    return {number: layer for adapter in own for number, layer in enumerate(adapter.layers, adapter.first)}
