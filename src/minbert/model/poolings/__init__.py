"""Poolings: the token vectors of a sequence -> one vector. T x D -> S x D."""

from collections.abc import Callable

from minbert.model.poolings.attention import Attention
from minbert.model.poolings.base import Pooling
from minbert.model.poolings.cls import Cls
from minbert.model.poolings.masked_tokens import MaskedTokens
from minbert.model.poolings.max import Max
from minbert.model.poolings.mean import Mean
from minbert.model.poolings.pooler import Pooler

POOLINGS: dict[str, Callable[..., Pooling]] = {
    "masked_tokens": MaskedTokens,
    "attention": Attention,
    "cls": Cls,
    "max": Max,
    "mean": Mean,
    "pooler": Pooler,
}

__all__ = ["POOLINGS", "Pooling"]
