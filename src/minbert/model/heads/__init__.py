"""Heads: the one or two vectors of an example -> its output, B x O."""

from collections.abc import Callable

from minbert.model.heads.base import Head
from minbert.model.heads.cosine import CosineHead
from minbert.model.heads.difference import DifferenceHead
from minbert.model.heads.dot import DotHead
from minbert.model.heads.linear import LinearHead
from minbert.model.heads.mlm import MaskedLanguageModelHead
from minbert.model.heads.normed import NormedHead
from minbert.model.heads.ordinal import OrdinalHead
from minbert.model.heads.projected_cosine import ProjectedCosineHead
from minbert.model.heads.relu import ReluHead
from minbert.model.heads.two_layer import TwoLayerHead
from minbert.model.heads.vectors import VectorsHead

HEADS: dict[str, Callable[..., Head]] = {
    "cosine": CosineHead,
    "difference": DifferenceHead,
    "dot": DotHead,
    "linear": LinearHead,
    "mlm": MaskedLanguageModelHead,
    "normed": NormedHead,
    "ordinal": OrdinalHead,
    "projected_cosine": ProjectedCosineHead,
    "relu": ReluHead,
    "two_layer": TwoLayerHead,
    "vectors": VectorsHead,
}

__all__ = ["HEADS", "Head"]
