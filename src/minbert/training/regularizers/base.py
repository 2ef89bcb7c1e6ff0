"""The interface of a regularizer of one task: a penalty added to its loss, or weights to train with."""

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
        # not the recipe's seed: the masks must differ from those of dropout and of other tasks
        self.seed = zlib.crc32(f"{seed} {task} {type(self).__name__}".encode())

    def weights(self) -> Mapping[str, Tensor]:
        """Weights that replace the model's own, by name, in the next forward pass of this task."""
        return {}

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor | None:
        """What to add to the loss of this batch; `output_BO` and `loss` carry gradients.

        `loss` is the task's loss, without the penalties of other regularizers.
        """
        return None

    def after_step(self) -> None:
        """Called after each update of the weights, whether or not this task was in it."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, strings, tensors, and lists and dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
