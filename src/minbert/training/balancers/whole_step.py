"""What balancers have in common whose weights depend on the losses of the whole step.

The backward pass waits for the last part, so with `accumulate` the activations of all parts are held at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.tally import Tally, means


class WholeStep(Balancer):
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        self.tally = Tally()
        self.waiting: list[tuple[str, Tensor]] = []
        # the weights of the last step that had the task
        self.latest: dict[str, float] = {}

    def weigh(self, losses: Mapping[str, float]) -> dict[str, float]:
        """The mean losses of the tasks of a step -> what each counts in it."""
        raise AssertionError("a balancer by the whole step defines weigh")

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        self.tally.add(losses)
        self.waiting += losses.items()

    def settle(self, shared: Sequence[nn.Parameter]) -> None:
        waiting, self.waiting = self.waiting, []
        weights = self.weigh(means(self.tally.close()))
        self.latest |= weights
        total = sum(weights[task] * loss for task, loss in waiting)
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]

    def weights(self) -> dict[str, float]:
        return dict(self.latest)

    def state(self) -> dict[str, Any]:
        return {"latest": dict(self.latest)}

    def restore(self, state: dict[str, Any]) -> None:
        self.latest = dict(state["latest"])
