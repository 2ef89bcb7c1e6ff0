"""Several hooks as one: each gets the result of the one before; parallel branches are added up.

T tokens, D width, F width of the feed-forward block, W = 3 D.
"""

from collections.abc import Iterable

from torch import Tensor

from minbert.data.packed import Packed
from minbert.encoder.bert import EncoderHooks, Layer


class HookStack(EncoderHooks):
    def __init__(self, adapters: Iterable[EncoderHooks]) -> None:
        self.adapters = tuple(adapters)

    def on_embeddings(self, x_TD: Tensor, packed: Packed) -> Tensor:
        for adapter in self.adapters:
            x_TD = adapter.on_embeddings(x_TD, packed)
        return x_TD

    def layer_for(self, number: int, layer: Layer) -> Layer:
        for adapter in self.adapters:
            layer = adapter.layer_for(number, layer)
        return layer

    def on_qkv(self, layer: int, x_TD: Tensor, qkv_TW: Tensor) -> Tensor:
        for adapter in self.adapters:
            qkv_TW = adapter.on_qkv(layer, x_TD, qkv_TW)
        return qkv_TW

    def on_attention(self, layer: int, y_TD: Tensor) -> Tensor:
        for adapter in self.adapters:
            y_TD = adapter.on_attention(layer, y_TD)
        return y_TD

    def on_hidden(self, layer: int, h_TF: Tensor) -> Tensor:
        for adapter in self.adapters:
            h_TF = adapter.on_hidden(layer, h_TF)
        return h_TF

    def on_feed_forward(self, layer: int, y_TD: Tensor) -> Tensor:
        for adapter in self.adapters:
            y_TD = adapter.on_feed_forward(layer, y_TD)
        return y_TD

    def parallel_branch(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor | None:
        found = [adapter.parallel_branch(layer, x_TD, packed) for adapter in self.adapters]
        branches = [each_TD for each_TD in found if each_TD is not None]
        return sum(branches[1:], start=branches[0]) if branches else None

    def on_output(self, x_TD: Tensor, packed: Packed) -> Tensor:
        for adapter in self.adapters:
            x_TD = adapter.on_output(x_TD, packed)
        return x_TD
