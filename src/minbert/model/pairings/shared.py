"""A pairing that several tasks share: its parameters belong to the model, not to the task."""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, EncoderHooks, Reads
from minbert.model.pairings.base import Pairing


class SharedPairing(Pairing):
    def __init__(self, pairing: Pairing) -> None:
        nn.Module.__init__(self)
        # inside a tuple, so that its parameters are not registered as this task's own
        self.wrapped = (pairing,)
        self.layout, self.reads = pairing.layout, pairing.reads

    def encode(self, bert: Bert, packed: Packed, reads: Reads, hooks: EncoderHooks) -> Tensor:
        return self.wrapped[0].encode(bert, packed, reads, hooks)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.wrapped[0](x_TD, packed)  # type: ignore[no-any-return]
