"""What every sampler offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Supply:
    """What a stage has to draw from."""

    # task: how many training examples it has, after the stage's cap
    sizes: Mapping[str, int]
    # task: how many batches these make
    batches: Mapping[str, int]
    # how many epochs the stage has
    epochs: int


class Sampler:
    # whether it wants to be told the scores on training rows and dev rows after each epoch
    wants_scores = False

    def __init__(self, supply: Supply, seed: int) -> None:
        self.supply = supply
        self.tasks = list(supply.sizes)

    @property
    def draws_an_epoch(self) -> int:
        """How many draws make an epoch, unless the recipe says how many steps: each example is seen about once."""
        return sum(self.supply.batches.values())

    def begin_epoch(self, epoch: int) -> None:
        """Called before the first draw of epoch 1, 2, ... of the stage."""

    def draw(self) -> tuple[str, ...]:
        """The tasks of the next draw, one batch each."""
        raise AssertionError("a sampler defines draw")

    def observe(self, train: Mapping[str, float], dev: Mapping[str, float]) -> None:
        """After an epoch, if it `wants_scores`: each task's main metric on training rows and on dev rows."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, texts, lists and dicts of these, and tensors."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass
