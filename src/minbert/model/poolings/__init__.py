"""Poolings: the token vectors of a sequence -> one vector, T x D -> S x D."""

from collections.abc import Callable

from minbert.model.poolings.attention import AttentionPooling
from minbert.model.poolings.base import Pooling
from minbert.model.poolings.cls import ClsPooling
from minbert.model.poolings.masked_tokens import MaskedTokensPooling
from minbert.model.poolings.max import MaxPooling
from minbert.model.poolings.mean import MeanPooling
from minbert.model.poolings.pooler import PoolerPooling

POOLINGS: dict[str, Callable[..., Pooling]] = {
    "masked_tokens": MaskedTokensPooling,
    "attention": AttentionPooling,
    "cls": ClsPooling,
    "max": MaxPooling,
    "mean": MeanPooling,
    "pooler": PoolerPooling,
}

__all__ = ["POOLINGS", "Pooling"]
