"""Mean squared error of the sigmoid of the output, scaled to the range of the task's scores. Report B, section 4.1."""

from torch import Tensor
from torch.nn import functional

from minbert.model.losses.base import ScoreLoss


class SigmoidMeanSquaredErrorLoss(ScoreLoss):
    """Mean squared error of the sigmoid of the output, scaled to the range of the task's scores."""

    accepts = ("logits",)
    linear_outputs = False

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.mse_loss(self.predict(output_BO), labels_B.to(output_BO.dtype))

    def predict(self, output_BO: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * output_BO[:, 0].sigmoid()
