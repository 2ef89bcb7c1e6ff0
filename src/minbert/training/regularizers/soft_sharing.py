"""The tasks' own copies of the encoder's layers stay close: weight / 2 * sum over j of |theta_i - theta_j|^2.

theta_i are the task's `own_layers`, j the other tasks that have some; layers that only one of two tasks has do not
count. Soft parameter sharing by L2 distance, Duong et al. 2015, https://aclanthology.org/P15-2139
"""

import torch
from torch import Tensor
from torch.nn import functional

from minbert.data.batch import Batch
from minbert.model.adapters.own_layers import own_layers_of
from minbert.model.multitask import Model
from minbert.training.regularizers.base import Regularizer


class SoftSharing(Regularizer):
    """Pulls the task's own layers and those of the other tasks towards each other (soft parameter sharing)."""

    def __init__(self, model: Model, task: str, seed: int, *, weight: float = 0.01) -> None:
        super().__init__(model, task, seed)
        if weight <= 0:
            raise ValueError(f"weight {weight} is not above 0")
        self.weight = weight
        own = own_layers_of(model.task(task).adapters)
        others = [own_layers_of(module.adapters) for name, module in model.tasks.items() if name != task]
        if not own:
            raise ValueError("this task has no layers of its own: give it the adapter 'own_layers'")
        # a task that is trained alone, for comparison, has nothing to share
        if others and not any(others):
            raise ValueError("no other task has layers of its own: give another task the adapter 'own_layers', too")
        self.pairs = [(own[number], other[number]) for other in others for number in sorted(own.keys() & other.keys())]

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor | None:
        # mse_loss keeps no copy of the differences for the backward pass
        squares = [
            functional.mse_loss(one, other, reduction="sum")
            for mine, theirs in self.pairs
            for one, other in zip(mine.parameters(), theirs.parameters(), strict=True)
            if one.requires_grad or other.requires_grad
        ]
        return self.weight / 2 * torch.stack(squares).sum() if squares else None
