"""What every sampler offers."""

from collections.abc import Mapping
from typing import Any


class Sampler:
    def __init__(self, sizes: Mapping[str, int], seed: int) -> None:
        """`sizes`: how many training examples each task has."""
        self.sizes = dict(sizes)

    def draw(self) -> tuple[str, ...]:
        """The tasks of the next step, one batch each."""
        raise AssertionError("a sampler defines draw")

    def state(self) -> dict[str, Any]:
        """What it remembers between steps, as JSON can hold it."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
