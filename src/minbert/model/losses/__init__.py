"""Losses: how a head's output B x O is compared with the labels, and read as an answer."""

from collections.abc import Callable

from minbert.model.losses.base import Loss
from minbert.model.losses.bce import BinaryCrossEntropy
from minbert.model.losses.contrastive import Contrastive
from minbert.model.losses.cosent import CoSent
from minbert.model.losses.cross_entropy import CrossEntropy
from minbert.model.losses.mlm import MaskedLanguageModelingLoss
from minbert.model.losses.mse import MeanSquaredError
from minbert.model.losses.ordinal import Ordinal
from minbert.model.losses.pearson import Pearson
from minbert.model.losses.pearson_mse import PearsonMeanSquaredError
from minbert.model.losses.sigmoid_mse import SigmoidMeanSquaredError

LOSSES: dict[str, Callable[..., Loss]] = {
    "bce": BinaryCrossEntropy,
    "contrastive": Contrastive,
    "cosent": CoSent,
    "cross_entropy": CrossEntropy,
    "mlm": MaskedLanguageModelingLoss,
    "mse": MeanSquaredError,
    "ordinal": Ordinal,
    "pearson": Pearson,
    "pearson_mse": PearsonMeanSquaredError,
    "sigmoid_mse": SigmoidMeanSquaredError,
}
DEFAULTS = {"classify": "cross_entropy", "score": "mse"}

__all__ = ["DEFAULTS", "LOSSES", "Loss"]
