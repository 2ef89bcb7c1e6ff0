"""Losses: a head's output B x O -> the loss against the labels, and the predictions."""

from collections.abc import Callable

from minbert.model.losses.base import Loss
from minbert.model.losses.bce import BinaryCrossEntropyLoss
from minbert.model.losses.contrastive import ContrastiveLoss
from minbert.model.losses.cosent import CoSentLoss
from minbert.model.losses.cross_entropy import CrossEntropyLoss
from minbert.model.losses.mlm import MaskedLanguageModelingLoss
from minbert.model.losses.mse import MeanSquaredErrorLoss
from minbert.model.losses.ordinal import OrdinalLoss
from minbert.model.losses.pearson import PearsonLoss
from minbert.model.losses.pearson_mse import PearsonMeanSquaredErrorLoss
from minbert.model.losses.sigmoid_mse import SigmoidMeanSquaredErrorLoss

LOSSES: dict[str, Callable[..., Loss]] = {
    "bce": BinaryCrossEntropyLoss,
    "contrastive": ContrastiveLoss,
    "cosent": CoSentLoss,
    "cross_entropy": CrossEntropyLoss,
    "mlm": MaskedLanguageModelingLoss,
    "mse": MeanSquaredErrorLoss,
    "ordinal": OrdinalLoss,
    "pearson": PearsonLoss,
    "pearson_mse": PearsonMeanSquaredErrorLoss,
    "sigmoid_mse": SigmoidMeanSquaredErrorLoss,
}
DEFAULT_LOSSES = {"classify": "cross_entropy", "score": "mse"}

__all__ = ["DEFAULT_LOSSES", "LOSSES", "Loss"]
