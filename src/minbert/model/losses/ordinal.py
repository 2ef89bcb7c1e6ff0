"""Binary cross-entropy for each threshold between ordered labels: is the label above it?

Summed over the thresholds, as in CORAL (Cao, Mirjalili and Raschka 2020, https://arxiv.org/abs/1901.07884).

B examples, C labels, O = C - 1 thresholds.
"""

import torch
from torch import Tensor
from torch.nn import functional

from minbert.config.task import Task
from minbert.model.losses.base import Loss


class OrdinalLoss(Loss):
    """Binary cross-entropy for each threshold between ordered labels (CORAL)."""

    accepts = ("ordinal_logits",)

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.kind != "classify" or len(task.labels) < 3:
            raise ValueError("is for tasks with three or more ordered labels; use the loss 'cross_entropy' or 'mse'")
        self.num_outputs = len(task.labels) - 1

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        above_BO = labels_B[:, None] > torch.arange(self.num_outputs, device=labels_B.device)
        each_BO = functional.binary_cross_entropy_with_logits(output_BO, above_BO.to(output_BO.dtype), reduction="none")
        return self.mean(each_BO.sum(1), labels_B)

    def predict(self, output_BO: Tensor) -> Tensor:
        above_BO = output_BO.sigmoid()
        # every label is at least the lowest, none is above the highest
        at_least_BC = functional.pad(above_BO, (1, 0), value=1.0)
        return at_least_BC - functional.pad(above_BO, (0, 1))
