"""A pairing that several tasks share: its weights are the model's, not the task's own."""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Ports, Reads
from minbert.model.pairings.base import Pairing


class SharedPairing(Pairing):
    def __init__(self, pairing: Pairing) -> None:
        nn.Module.__init__(self)
        # inside a tuple, so that it is not taken for this task's own
        self.lent = (pairing,)
        self.layout, self.reads = pairing.layout, pairing.reads

    def encode(self, bert: Bert, packed: Packed, reads: Reads, ports: Ports) -> Tensor:
        return self.lent[0].encode(bert, packed, reads, ports)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.lent[0](x_TD, packed)  # type: ignore[no-any-return]
