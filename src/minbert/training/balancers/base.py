"""What every balancer offers.

A step has one or more parts (gradient accumulation), and a part the losses of one or more tasks. The loop calls
`backward` for each part, then `settle` once, clips, steps, and calls `stepped`; at the end of an epoch `epoch_ended`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn


class Balancer:
    def __init__(self, tasks: Mapping[str, str], seed: int) -> None:
        """`tasks`: the kind of each task, "classify" or "score"."""
        self.tasks = list(tasks)

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        """Add to the gradients of all parameters. `shared`: the free ones that more than one task uses."""
        raise AssertionError("a balancer defines backward")

    def settle(self, shared: Sequence[nn.Parameter]) -> None:
        """After the last part of a step, before clipping: the gradients are complete after this."""

    def stepped(self, again: Callable[[], Mapping[str, float]]) -> None:
        """After the weights changed; `again` measures the step's losses anew, at the cost of another forward pass."""

    def epoch_ended(self) -> None:
        """After the last step of an epoch."""

    def weights(self) -> dict[str, float]:
        """What each task's loss counts now, for the log; nothing where it has no such number."""
        return {}

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, texts, lists and dicts of these, and tensors."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
