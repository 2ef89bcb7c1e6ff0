"""Several adapters of one task at the same ports: they follow one another; what stands beside a layer is summed."""

from collections.abc import Iterable

from torch import Tensor

from minbert.data.packed import Packed
from minbert.encoder.bert import Ports


class Stack(Ports):
    def __init__(self, adapters: Iterable[Ports]) -> None:
        self.adapters = tuple(adapters)

    def embedded(self, x_TD: Tensor, packed: Packed) -> Tensor:
        for adapter in self.adapters:
            x_TD = adapter.embedded(x_TD, packed)
        return x_TD

    def qkv(self, layer: int, x_TD: Tensor, qkv_TW: Tensor) -> Tensor:
        for adapter in self.adapters:
            qkv_TW = adapter.qkv(layer, x_TD, qkv_TW)
        return qkv_TW

    def attended(self, layer: int, y_TD: Tensor) -> Tensor:
        for adapter in self.adapters:
            y_TD = adapter.attended(layer, y_TD)
        return y_TD

    def fed(self, layer: int, y_TD: Tensor) -> Tensor:
        for adapter in self.adapters:
            y_TD = adapter.fed(layer, y_TD)
        return y_TD

    def beside(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor | None:
        found = [adapter.beside(layer, x_TD, packed) for adapter in self.adapters]
        there = [each_TD for each_TD in found if each_TD is not None]
        return sum(there[1:], start=there[0]) if there else None

    def above(self, x_TD: Tensor, packed: Packed) -> Tensor:
        for adapter in self.adapters:
            x_TD = adapter.above(x_TD, packed)
        return x_TD
