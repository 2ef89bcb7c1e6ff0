"""What every regularizer offers: something more that one task's training has to mind than its loss."""

import zlib
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from minbert.data.batch import Batch
from minbert.model.multitask import Model


class Regularizer:
    def __init__(self, model: Model, task: str, seed: int) -> None:
        self.model = model
        self.task = task
        # not the recipe's own, or the masks here would be those of dropout, and of every other task
        self.seed = zlib.crc32(f"{seed} {task} {type(self).__name__}".encode())

    def weights(self) -> Mapping[str, Tensor]:
        """Weights that take the place of the model's own, by name, in one pass of this task in training."""
        return {}

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor | None:
        """What is added to the loss of this batch, given the model's output for it; both carry gradients.

        `loss` is the task's own, whatever other regularizers add to it.
        """
        return None

    def stepped(self) -> None:
        """After each update of the weights, whether or not this task was in it."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, texts, lists and dicts of these, and tensors."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
