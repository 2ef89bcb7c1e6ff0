"""Heads: the one or two vectors of an example -> its output, B x O."""

from collections.abc import Callable

from minbert.model.heads.base import Head
from minbert.model.heads.cosine import Cosine
from minbert.model.heads.difference import Difference
from minbert.model.heads.dot import Dot
from minbert.model.heads.linear import Linear
from minbert.model.heads.mlm import MaskedLanguageModel
from minbert.model.heads.normed import Normed
from minbert.model.heads.ordinal import Ordinal
from minbert.model.heads.projected_cosine import ProjectedCosine
from minbert.model.heads.relu import Relu
from minbert.model.heads.two_layer import TwoLayer
from minbert.model.heads.vectors import Vectors

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
