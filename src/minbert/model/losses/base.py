"""What every loss offers."""

import torch
from torch import Tensor, nn

from minbert.config.task import Task
from minbert.model.heads.base import Emits


class Loss(nn.Module):
    # what a head must emit for this loss to make sense of it
    reads: tuple[Emits, ...]
    # how many numbers the head must give for an example
    outputs: int
    # whether it compares the examples of a batch with each other, so that a batch of one teaches nothing
    across_examples = False
    # false: it only trains the encoder, and its task is neither measured nor asked
    predicts = True

    # the weight of each label, if the task has them
    weight_C: Tensor | None

    def __init__(self, task: Task) -> None:
        super().__init__()
        weights = task.class_weights if isinstance(task.class_weights, tuple) else None
        self.register_buffer("weight_C", None if weights is None else torch.tensor(weights), persistent=False)

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        """The mean loss of the examples."""
        raise AssertionError("a loss defines forward")

    def predict(self, output_BO: Tensor) -> Tensor:
        """classify: the probability of each label, B x C. score: the score, B."""
        raise AssertionError("a loss defines answers")

    def mean(self, each_B: Tensor, labels_B: Tensor) -> Tensor:
        """The mean of the examples' losses by the weights of their labels."""
        if self.weight_C is None:
            return each_B.mean()
        # divided by the sum of the weights, as torch's cross_entropy does
        weight_B = self.weight_C[labels_B]
        return (weight_B * each_B).sum() / weight_B.sum()


class ScoreLoss(Loss):
    """A loss of tasks that score: one output an example."""

    outputs = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.kind != "score":
            raise ValueError("is for tasks of kind \"score\"; take the loss 'cross_entropy'")
        self.low, self.high = task.range
