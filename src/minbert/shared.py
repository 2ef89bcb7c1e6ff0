"""A layer between pooling and head that several tasks share: ReLU(W dropout(x) + b)."""

from torch import Tensor, nn
from torch.nn import functional

from minbert.bert import Bert, initialise
from minbert.dropout import Dropout


class SharedLayer(nn.Module):
    def __init__(self, bert: Bert, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = Dropout(dropout, bert.noise)
        self.linear = nn.Linear(bert.shape.width, bert.shape.width)
        initialise(self.linear)

    def forward(self, x_SD: Tensor) -> Tensor:
        return functional.relu(self.linear(self.dropout(x_SD)))
