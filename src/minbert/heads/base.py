"""What every head offers."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from minbert.dropout import Noise
from minbert.task import Task

# What a head's output means: `free` numbers that a loss may read in its own way, or a finished `score`.
Emits = Literal["free", "score"]


@dataclass(frozen=True)
class Place:
    """Where a head stands: what comes in, what must go out."""

    task: Task
    width: int
    vectors: int
    outputs: int
    noise: Noise


class Head(nn.Module):
    emits: Emits

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        raise AssertionError("a head defines forward")
