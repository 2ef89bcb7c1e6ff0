"""Poolings: the token vectors of a sequence -> one vector. T x D -> S x D."""

from collections.abc import Callable

from minbert.poolings.asked import Asked
from minbert.poolings.attention import Attention
from minbert.poolings.base import Pooling
from minbert.poolings.cls import Cls
from minbert.poolings.max import Max
from minbert.poolings.mean import Mean
from minbert.poolings.pooler import Pooler

POOLINGS: dict[str, Callable[..., Pooling]] = {
    "asked": Asked,
    "attention": Attention,
    "cls": Cls,
    "max": Max,
    "mean": Mean,
    "pooler": Pooler,
}

__all__ = ["POOLINGS", "Pooling"]
