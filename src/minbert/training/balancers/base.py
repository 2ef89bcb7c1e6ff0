"""The interface of a balancer: the losses of a step -> gradients.

A step has one or more micro-batches (gradient accumulation), and each has the losses of one or more tasks. The training
loop calls `backward` for each micro-batch, then `finish_step` once, clips the gradients, updates the weights and calls
`after_step`; at the end of an epoch it calls `after_epoch`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from minbert.training.balancers.step_losses import StepLosses


class Balancer:
    """Adds the gradient of the sum of the losses, each multiplied by its weight (1 without one)."""

    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        """`tasks`: the kind of each task, "classify" or "score"."""
        self.tasks = list(tasks)

    def backward(self, losses: Mapping[str, Tensor], micro_batches: int, shared: Sequence[nn.Parameter]) -> None:
        """Add the gradients of one of the step's `micro_batches` to those of all parameters.

        Each loss counts 1 / `micro_batches`, so that the gradients of a step add up to a mean. `shared`: the trainable
        parameters that more than one task uses.
        """
        weights = self.weights()
        total = sum(weights.get(task, 1.0) * (loss / micro_batches) for task, loss in losses.items())
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        """Complete the gradients after the last micro-batch, before they are clipped. `losses`: those of the step."""

    def after_step(self, measure_again: Callable[[], Mapping[str, float]]) -> None:
        """Called after the weights changed; `measure_again` costs a forward pass over the step's batches."""

    def after_epoch(self) -> None:
        """Called after the last step of an epoch."""

    def weights(self) -> dict[str, float]:
        """The current weight of each task's loss; empty if the balancer has no weights."""
        return {}

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, strings, tensors, and lists and dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
