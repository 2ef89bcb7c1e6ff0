"""The interface of a head: the one or two vectors of an example -> its output."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from minbert.config.task import Task
from minbert.data.batch import Batch
from minbert.encoder.bert import Bert
from minbert.encoder.dropout import DropoutGenerator

# What a head outputs; each loss lists the kinds that it accepts.
OutputKind = Literal["logits", "score", "cosine", "ordinal_logits", "vectors", "token_logits"]
OUTPUT_DESCRIPTIONS: dict[OutputKind, str] = {
    "logits": "logits",
    "score": "a score within the task's range",
    "cosine": "a cosine",
    "ordinal_logits": "ordinal logits",
    "vectors": "vectors",
    "token_logits": "logits over the vocabulary",
}


@dataclass(frozen=True)
class HeadContext:
    """What a head is built from."""

    task: Task
    bert: Bert
    # vectors per example: 2 if the two texts of a pair are encoded separately, else 1
    num_vectors: int
    # numbers per example that the loss needs
    num_outputs: int

    @property
    def width(self) -> int:
        return self.bert.config.hidden_size

    @property
    def dropout_generator(self) -> DropoutGenerator:
        return self.bert.dropout_generator

    def require_pair(self) -> None:
        if self.num_vectors != 2:
            raise ValueError('needs two vectors: set pairing = "bi_encoder", or use the head "linear"')


class Head(nn.Module):
    output_kind: OutputKind

    def prepare(self, batch: Batch) -> Batch:
        """The batch to train on; a masked language model masks some tokens."""
        return batch

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        raise AssertionError("a head defines forward")
