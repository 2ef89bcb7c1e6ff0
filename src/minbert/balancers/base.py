"""What every balancer offers."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn


class Balancer:
    def __init__(self, tasks: Sequence[str]) -> None:
        pass

    def backward(self, losses: Mapping[str, Tensor], shared: Sequence[nn.Parameter]) -> None:
        """Add to the gradients of all parameters; `shared` are those that more than one task uses."""
        raise AssertionError("a balancer defines backward")

    def state(self) -> dict[str, Any]:
        """What it remembers between steps, as JSON can hold it."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
