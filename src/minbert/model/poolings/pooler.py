"""BERT's pooler: the first token through the pretrained tanh(W x + b), which all tasks share."""

from torch import Tensor

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert
from minbert.model.poolings.base import Pooling


class PoolerPooling(Pooling):
    """Takes BERT's pooler output: tanh(W x + b) of the [CLS] vector, pretrained."""

    reads = "first"

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        # inside a tuple, so that the encoder's parameters are not registered as this task's own
        self.encoder = (bert,)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.encoder[0].pool(x_TD, packed)
