"""Heads: the one or two vectors of an example -> its output, B x O."""

from collections.abc import Callable

from minbert.heads.base import Head
from minbert.heads.cosine import Cosine
from minbert.heads.difference import Difference
from minbert.heads.dot import Dot
from minbert.heads.linear import Linear
from minbert.heads.mlm import MaskedLanguageModel
from minbert.heads.normed import Normed
from minbert.heads.ordinal import Ordinal
from minbert.heads.projected_cosine import ProjectedCosine
from minbert.heads.relu import Relu
from minbert.heads.two_layer import TwoLayer
from minbert.heads.vectors import Vectors

HEADS: dict[str, Callable[..., Head]] = {
    "cosine": Cosine,
    "difference": Difference,
    "dot": Dot,
    "linear": Linear,
    "mlm": MaskedLanguageModel,
    "normed": Normed,
    "ordinal": Ordinal,
    "projected_cosine": ProjectedCosine,
    "relu": Relu,
    "two_layer": TwoLayer,
    "vectors": Vectors,
}

__all__ = ["HEADS", "Head"]
