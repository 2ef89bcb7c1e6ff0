"""Binary cross-entropy on one output: the logit of the second of two labels."""

import torch
from torch import Tensor
from torch.nn import functional

from minbert.config.task import Task
from minbert.model.losses.base import Loss


class BinaryCrossEntropyLoss(Loss):
    """Binary cross-entropy on one logit, for tasks with two labels."""

    accepts = ("logits",)
    num_outputs = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.kind != "classify" or len(task.labels) != 2:
            raise ValueError("is for tasks with two labels; use the loss 'cross_entropy'")

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        target_B = labels_B.to(output_BO.dtype)
        each_B = functional.binary_cross_entropy_with_logits(output_BO[:, 0], target_B, reduction="none")
        return self.mean(each_B, labels_B)

    def predict(self, output_BO: Tensor) -> Tensor:
        yes_B = output_BO[:, 0].sigmoid()
        return torch.stack([1 - yes_B, yes_B], 1)
