"""What every head offers."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from minbert.config.task import Task
from minbert.data.batch import Batch
from minbert.encoder.bert import Bert
from minbert.encoder.dropout import DropoutGenerator

# What a head's output means, so that a loss can say what it reads.
Emits = Literal["free", "score", "cosine", "ordered", "vectors", "tokens"]
MEANINGS: dict[Emits, str] = {
    "free": "free numbers",
    "score": "a finished score",
    "cosine": "a bare cosine",
    "ordered": "ordered log-odds",
    "vectors": "vectors",
    "tokens": "guesses of words",
}


@dataclass(frozen=True)
class HeadContext:
    """Where a head stands: what comes in, what must go out."""

    task: Task
    bert: Bert
    vectors: int
    outputs: int

    @property
    def width(self) -> int:
        return self.bert.config.hidden_size

    @property
    def dropout_generator(self) -> DropoutGenerator:
        return self.bert.dropout_generator

    def demand_pair(self) -> None:
        if self.vectors != 2:
            raise ValueError('needs two vectors: set pairing = "bi_encoder", or take the head "linear"')


class Head(nn.Module):
    emits: Emits

    def prepare(self, batch: Batch) -> Batch:
        """What it wants to learn from a batch; some hide a part of it."""
        return batch

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        raise AssertionError("a head defines forward")
