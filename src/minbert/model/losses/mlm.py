"""Cross-entropy over all words at the places asked for. Trains the encoder, answers nothing. Devlin et al. 2019."""

from torch import Tensor
from torch.nn import functional

from minbert.model.losses.base import Loss


class MaskedLanguageModelingLoss(Loss):
    reads = ("tokens",)
    outputs = 1
    predicts = False

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.cross_entropy(output_BO, labels_B)
