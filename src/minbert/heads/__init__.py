"""Heads: the one or two vectors of an example -> its output, B x O."""

from collections.abc import Callable

from minbert.heads.base import Head
from minbert.heads.cosine import Cosine
from minbert.heads.linear import Linear

HEADS: dict[str, Callable[..., Head]] = {
    "cosine": Cosine,
    "linear": Linear,
}

__all__ = ["HEADS", "Head"]
