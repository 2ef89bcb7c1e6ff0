"""The base of losses that compare the examples of a batch with each other, and so ignore the scale of the outputs.

Predictions are outputs shifted and scaled to the mean and the standard deviation of the labels, both of which are
tracked during training. This keeps the correlation; only predictions outside the range are clamped.

B examples, 2: the outputs and the labels.
"""

import torch
from torch import Tensor

from minbert.config.task import Task
from minbert.model.losses.base import ScoreLoss

# the weight of a new batch in the running statistics: outputs drift while a head learns
STATISTICS_RATE = 0.05


class RelativeLoss(ScoreLoss):
    accepts = ("logits", "score", "cosine")
    across_examples = True

    batches: Tensor
    mean_2: Tensor
    variance_2: Tensor

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.register_buffer("batches", torch.zeros(()))
        # equal for outputs and labels: before the first batch, predictions are the outputs
        self.register_buffer("mean_2", torch.zeros(2))
        self.register_buffer("variance_2", torch.ones(2))

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        output_B, labels_B = output_BO[:, 0], labels_B.to(output_BO.dtype)
        if self.training:
            self.track(torch.stack([output_B.detach(), labels_B]))
        return self.compare(output_B, labels_B)

    def compare(self, output_B: Tensor, labels_B: Tensor) -> Tensor:
        raise AssertionError("a relative loss defines compare")

    def predict(self, output_BO: Tensor) -> Tensor:
        spread_2 = self.variance_2.sqrt().clamp(min=1e-6)
        standard_B = (output_BO[:, 0] - self.mean_2[0]) / spread_2[0]
        return (self.mean_2[1] + standard_B * spread_2[1]).clamp(self.low, self.high)

    def track(self, both_2B: Tensor) -> None:
        self.batches += 1
        # the first batches count equally, so that the initial values have no influence
        rate = self.batches.reciprocal().clamp(min=STATISTICS_RATE)
        mean_2 = both_2B.mean(1)
        # the variance of a mixture is the variance within its parts plus that between their means
        between_2 = (1 - rate) * (mean_2 - self.mean_2).square()
        self.variance_2.lerp_(both_2B.var(1, correction=0) + between_2, rate)
        self.mean_2.lerp_(mean_2, rate)
