"""The base of balancers whose weights depend on the losses of the whole step.

The backward pass waits for the last micro-batch, so gradient accumulation holds the activations of all micro-batches
at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.step_losses import StepLosses, mean_losses


class DeferredBalancer(Balancer):
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        self.pending: list[tuple[str, Tensor]] = []
        # the weight of each task in the last step that had it
        self.latest: dict[str, float] = {}

    def step_weights(self, losses: Mapping[str, float]) -> dict[str, float]:
        """The mean loss of each task of a step -> the weight of its loss."""
        raise AssertionError("a deferred balancer defines step_weights")

    def backward(self, losses: Mapping[str, Tensor], micro_batches: int, shared: Sequence[nn.Parameter]) -> None:
        self.pending += [(task, loss / micro_batches) for task, loss in losses.items()]

    def finish_step(self, losses: StepLosses, shared: Sequence[nn.Parameter]) -> None:
        pending, self.pending = self.pending, []
        weights = self.step_weights(mean_losses(losses))
        self.latest |= weights
        total = sum(weights[task] * loss for task, loss in pending)
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]

    def weights(self) -> dict[str, float]:
        return dict(self.latest)

    def state(self) -> dict[str, Any]:
        return {"latest": dict(self.latest)}

    def restore(self, state: dict[str, Any]) -> None:
        self.latest = dict(state["latest"])
