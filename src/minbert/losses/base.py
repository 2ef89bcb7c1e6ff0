"""What every loss offers."""

import torch
from torch import Tensor, nn

from minbert.heads.base import Emits
from minbert.task import Task


class Loss(nn.Module):
    # what a head must emit for this loss to make sense of it
    reads: tuple[Emits, ...]
    # how many numbers the head must give for an example
    outputs: int

    # the weight of each label, if the task has them
    weight_C: Tensor | None

    def __init__(self, task: Task) -> None:
        super().__init__()
        weights = task.class_weights if isinstance(task.class_weights, tuple) else None
        self.register_buffer("weight_C", None if weights is None else torch.tensor(weights), persistent=False)

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        """The mean loss of the examples."""
        raise AssertionError("a loss defines forward")

    def answers(self, output_BO: Tensor) -> Tensor:
        """classify: the probability of each label, B x C. score: the score, B."""
        raise AssertionError("a loss defines answers")
