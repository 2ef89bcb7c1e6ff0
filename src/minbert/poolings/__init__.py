"""Poolings: the token vectors of a sequence -> one vector. T x D -> S x D."""

from collections.abc import Callable

from minbert.poolings.base import Pooling
from minbert.poolings.cls import Cls
from minbert.poolings.mean import Mean

POOLINGS: dict[str, Callable[..., Pooling]] = {
    "cls": Cls,
    "mean": Mean,
}

__all__ = ["POOLINGS", "Pooling"]
