"""What every pairing offers."""

from torch import Tensor, nn

from minbert.config.task import Task
from minbert.data.batch import Layout
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Ports, Reads


class Pairing(nn.Module):
    layout: Layout
    # which token vectors it looks at itself: the two simplest pass on what they get
    reads: Reads = "first"
    # tasks whose pairings have the same name here use one and the same
    shared: str | None = None

    def __init__(self, bert: Bert, task: Task) -> None:
        super().__init__()

    def encode(self, bert: Bert, packed: Packed, reads: Reads, ports: Ports) -> Tensor:
        """The texts of a batch through the encoder."""
        return bert(packed, reads, ports)  # type: ignore[no-any-return]

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return x_TD
