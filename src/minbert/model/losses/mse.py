"""Mean squared error on the scale of the task's scores."""

from torch import Tensor
from torch.nn import functional

from minbert.model.losses.base import ScoreLoss


class MeanSquaredErrorLoss(ScoreLoss):
    """Mean squared error on the scale of the task's scores."""

    accepts = ("logits", "score")

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.mse_loss(output_BO[:, 0], labels_B.to(output_BO.dtype))

    def predict(self, output_BO: Tensor) -> Tensor:
        return output_BO[:, 0].clamp(self.low, self.high)
