"""What losses share that compare the examples of a batch with each other, and so know no unit.

Their outputs are read as scores by a line: shifted and stretched to the mean and the spread that the labels have.
Both are watched while training. A rising line keeps the correlation; only what it puts outside the range is cut off.

B examples, 2: the outputs and the labels.
"""

import torch
from torch import Tensor

from minbert.config.task import Task
from minbert.model.losses.base import ScoreLoss

# The weight of a new batch among those before it: outputs drift while a head learns.
RATE = 0.05


class RelativeLoss(ScoreLoss):
    reads = ("free", "score", "cosine")
    across_examples = True

    batches: Tensor
    mean_2: Tensor
    variance_2: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.register_buffer("batches", torch.zeros(()))
        # equal on both sides: before the first batch an output is its own answer
        self.register_buffer("mean_2", torch.zeros(2))
        self.register_buffer("variance_2", torch.ones(2))

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        output_B, labels_B = output_BO[:, 0], labels_B.to(output_BO.dtype)
        if self.training:
            self.watch(torch.stack([output_B.detach(), labels_B]))
        return self.compare(output_B, labels_B)

    def compare(self, output_B: Tensor, labels_B: Tensor) -> Tensor:
        raise AssertionError("a relative loss defines compare")

    def predict(self, output_BO: Tensor) -> Tensor:
        spread_2 = self.variance_2.sqrt().clamp(min=1e-6)
        standard_B = (output_BO[:, 0] - self.mean_2[0]) / spread_2[0]
        return (self.mean_2[1] + standard_B * spread_2[1]).clamp(self.low, self.high)

    def watch(self, both_2B: Tensor) -> None:
        self.batches += 1
        # the first batches count alike, so that none of what was there before them is left
        rate = self.batches.reciprocal().clamp(min=RATE)
        mean_2 = both_2B.mean(1)
        # the variance of a mixture is that within its parts and that between their means
        between_2 = (1 - rate) * (mean_2 - self.mean_2).square()
        self.variance_2.lerp_(both_2B.var(1, correction=0) + between_2, rate)
        self.mean_2.lerp_(mean_2, rate)
