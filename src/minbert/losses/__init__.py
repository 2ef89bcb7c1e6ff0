"""Losses: how a head's output B x O is compared with the labels, and read as an answer."""

from collections.abc import Callable

from minbert.losses.base import Loss
from minbert.losses.bce import BinaryCrossEntropy
from minbert.losses.contrastive import Contrastive
from minbert.losses.cosent import CoSent
from minbert.losses.cross_entropy import CrossEntropy
from minbert.losses.mlm import MaskedLanguageModelling
from minbert.losses.mse import MeanSquaredError
from minbert.losses.ordinal import Ordinal
from minbert.losses.pearson import Pearson
from minbert.losses.pearson_mse import PearsonMeanSquaredError
from minbert.losses.sigmoid_mse import SigmoidMeanSquaredError

LOSSES: dict[str, Callable[..., Loss]] = {
    "bce": BinaryCrossEntropy,
    "contrastive": Contrastive,
    "cosent": CoSent,
    "cross_entropy": CrossEntropy,
    "mlm": MaskedLanguageModelling,
    "mse": MeanSquaredError,
    "ordinal": Ordinal,
    "pearson": Pearson,
    "pearson_mse": PearsonMeanSquaredError,
    "sigmoid_mse": SigmoidMeanSquaredError,
}
DEFAULTS = {"classify": "cross_entropy", "score": "mse"}

__all__ = ["DEFAULTS", "LOSSES", "Loss"]
