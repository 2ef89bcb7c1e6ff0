"""Cross-entropy over the vocabulary for the masked tokens. It makes no predictions. Devlin et al. 2019."""

from torch import Tensor
from torch.nn import functional

from minbert.model.losses.base import Loss


class MaskedLanguageModelingLoss(Loss):
    """Cross-entropy over the vocabulary for the masked tokens."""

    accepts = ("token_logits",)
    num_outputs = 1
    predicts = False

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.cross_entropy(output_BO, labels_B)
