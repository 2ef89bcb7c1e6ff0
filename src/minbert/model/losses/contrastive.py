"""Contrastive loss with in-batch negatives: -log softmax_j(cos(u_i, v_j) / temperature)_i.

Supervised: the positive pairs are those with the label 1, or with a score in the upper part of the range; all other
second texts of the batch, including those of negative pairs, are the negatives. Unsupervised, with the pairing
"simcse": the positive is the same text under another dropout mask. It trains the encoder and makes no predictions.
SimCSE, Gao et al. 2021, https://arxiv.org/abs/2104.08821

B pairs, D width.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from minbert.config.task import Task
from minbert.model.losses.base import Loss


class ContrastiveLoss(Loss):
    """Contrastive loss: each text should be closest to its partner among all second texts of the batch."""

    accepts = ("vectors",)
    num_outputs = 1
    predicts = False
    across_examples = True

    def __init__(
        self,
        task: Task,
        *,
        temperature: float = 0.05,
        positives: Literal["labels", "all"] = "labels",
        threshold: float = 0.8,
    ) -> None:
        super().__init__(task)
        if temperature <= 0:
            raise ValueError(f"temperature {temperature} is not above 0")
        if positives == "labels" and task.kind == "classify" and len(task.labels) != 2:
            raise ValueError(
                'needs two labels to tell which pairs are positive; set positives = "all" for single texts'
            )
        self.temperature = temperature
        self.positives = positives
        low, high = task.range if task.kind == "score" else (0.0, 1.0)
        self.min_positive = low + threshold * (high - low) if task.kind == "score" else 1.0

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        u_BD, v_BD = (functional.normalize(part_BD, dim=1) for part_BD in output_BO.chunk(2, 1))
        scores_BB = u_BD @ v_BD.T / self.temperature
        target_B = torch.arange(len(scores_BB), device=scores_BB.device)
        each_B = functional.cross_entropy(scores_BB, target_B, reduction="none")
        positive_B = (
            torch.ones_like(each_B) if self.positives == "all" else (labels_B >= self.min_positive).to(each_B.dtype)
        )
        # the loss of a batch without a positive pair is 0
        return (each_B * positive_B).sum() / positive_B.sum().clamp(min=1)
