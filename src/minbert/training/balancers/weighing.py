"""What balancers have in common whose weights are known before a step."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from minbert.training.balancers.base import Balancer
from minbert.training.balancers.tally import Tally


class Weighing(Balancer):
    """The gradient of the sum of the losses, each times its weight."""

    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        super().__init__(tasks, seed)
        self.tally = Tally()

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        weights = self.weights()
        self.tally.add(losses)
        total = sum(weights[task] * loss for task, loss in losses.items())
        assert isinstance(total, Tensor)
        total.backward()  # type: ignore[no-untyped-call]

    def settle(self, shared: Sequence[nn.Parameter]) -> None:
        self.seen(self.tally.close())

    def seen(self, losses: Mapping[str, list[float]]) -> None:
        """The losses of a step's batches, by task; tasks that were not in it are not named."""
