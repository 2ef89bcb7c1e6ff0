"""1 - Pearson's r over the batch plus the weighted mean squared error, which gives the outputs a unit.

What report D measures (r) and what the other reports learn by (MSE) in one.
"""

from torch import Tensor

from minbert.config.task import Task
from minbert.model.losses.mse import MeanSquaredErrorLoss
from minbert.model.losses.pearson import correlation


class PearsonMeanSquaredErrorLoss(MeanSquaredErrorLoss):
    across_examples = True

    def __init__(self, task: Task, *, weight: float = 1.0) -> None:
        """`weight` is that of the squared error."""
        super().__init__(task)
        if weight <= 0:
            raise ValueError(f"weight {weight} is not above 0; for r alone take the loss 'pearson'")
        self.weight = weight

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        r = correlation(output_BO[:, 0], labels_B.to(output_BO.dtype))
        return 1 - r + self.weight * super().forward(output_BO, labels_B)
