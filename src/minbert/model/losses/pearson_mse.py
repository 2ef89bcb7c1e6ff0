"""1 - Pearson's r over the batch plus the weighted mean squared error, which fixes the scale of the outputs.

It combines the metric of report D (r) with the loss of the other reports (MSE).
"""

from torch import Tensor

from minbert.config.task import Task
from minbert.model.losses.mse import MeanSquaredErrorLoss
from minbert.model.losses.pearson import pearson_r


class PearsonMeanSquaredErrorLoss(MeanSquaredErrorLoss):
    """1 - Pearson's r over the batch, plus the weighted mean squared error."""

    across_examples = True

    def __init__(self, task: Task, *, weight: float = 1.0) -> None:
        """`weight`: that of the squared error."""
        super().__init__(task)
        if weight <= 0:
            raise ValueError(f"weight {weight} is not above 0; for r alone use the loss 'pearson'")
        self.weight = weight

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        r = pearson_r(output_BO[:, 0], labels_B.to(output_BO.dtype))
        return 1 - r + self.weight * super().forward(output_BO, labels_B)
