"""The interface of a pairing: how the two texts of a pair are encoded."""

from torch import Tensor, nn

from minbert.config.task import Task
from minbert.data.batch import Layout
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, EncoderHooks, Reads


class Pairing(nn.Module):
    layout: Layout
    # which token vectors it needs itself; a pairing that only passes them on needs no more than the first
    reads: Reads = "first"
    # tasks whose pairings have the same name here share one pairing
    shared: str | None = None

    def __init__(self, bert: Bert, task: Task) -> None:
        super().__init__()

    def encode(self, bert: Bert, packed: Packed, reads: Reads, hooks: EncoderHooks) -> Tensor:
        """Run the encoder on the texts of a batch."""
        return bert(packed, reads, hooks)  # type: ignore[no-any-return]

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD
