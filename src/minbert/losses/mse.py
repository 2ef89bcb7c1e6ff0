"""Mean squared error in the unit of the task's scores."""

from torch import Tensor
from torch.nn import functional

from minbert.losses.base import Loss
from minbert.task import Task


class MeanSquaredError(Loss):
    reads = ("free", "score")
    outputs = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.kind != "score":
            raise ValueError("is for tasks of kind \"score\"; take the loss 'cross_entropy'")
        self.low, self.high = task.range

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.mse_loss(output_BO[:, 0], labels_B.to(output_BO.dtype))

    def answers(self, output_BO: Tensor) -> Tensor:
        return output_BO[:, 0].clamp(self.low, self.high)
