"""The interface of a loss: a head's output and the labels -> the loss; the output -> predictions."""

import torch
from torch import Tensor, nn

from minbert.config.task import Task
from minbert.model.heads.base import OutputKind


class Loss(nn.Module):
    # the kinds of head output that it accepts
    accepts: tuple[OutputKind, ...]
    # how many numbers per example the head must output
    num_outputs: int
    # whether it compares the examples of a batch with each other, so that batches of one example are useless
    across_examples = False
    # whether its outputs are the scores, or the logits of the labels, so that a linear fit to the labels gives them
    linear_outputs = True
    # false: it only trains the encoder; its task has no predictions and no scores
    predicts = True

    # the weight of each label, if the task has class weights
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
        raise AssertionError("a loss defines predict")

    def mean(self, each_B: Tensor, labels_B: Tensor) -> Tensor:
        """The mean of the examples' losses, weighted by the class weights."""
        if self.weight_C is None:
            return each_B.mean()
        # divided by the sum of the weights, as torch's cross_entropy does
        weight_B = self.weight_C[labels_B]
        return per_weight((weight_B * each_B).sum(), weight_B)


def per_weight(total: Tensor, weight_B: Tensor) -> Tensor:
    """A batch's total loss divided by its weights; 0 if all its labels have the weight 0: they teach nothing."""
    weight = weight_B.sum()
    return total / weight.masked_fill(weight == 0, torch.inf)


class ScoreLoss(Loss):
    """The base of losses for tasks of kind "score": one output per example."""

    num_outputs = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.kind != "score":
            raise ValueError("is for tasks of kind \"score\"; use the loss 'cross_entropy'")
        self.low, self.high = task.range
