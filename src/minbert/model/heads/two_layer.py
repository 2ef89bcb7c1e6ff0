"""vectors -> output: a linear layer, an activation, a linear layer, dropout before each. Report A, section 3.

B examples, D width of a vector, H width between the layers.
"""

from typing import Literal

from torch import Tensor, nn

from minbert.encoder.bert import ACTIVATIONS, initialize
from minbert.encoder.dropout import Dropout
from minbert.model.heads.base import Head, HeadContext
from minbert.model.heads.features import Features


class TwoLayerHead(Head):
    emits = "free"

    def __init__(
        self,
        context: HeadContext,
        *,
        dropout: float = 0.1,
        features: tuple[str, ...] = ("u", "v", "|u-v|"),
        hidden: int | None = None,
        activation: Literal["relu", "gelu", "tanh"] = "relu",
    ) -> None:
        """`hidden` is the width between the layers; left out, that of a vector."""
        super().__init__()
        if hidden is not None and hidden < 1:
            raise ValueError(f"hidden {hidden} is not a width: it is at least 1")
        hidden = hidden or context.width
        self.features = Features(context, features)
        self.dropout = Dropout(dropout, context.dropout_generator)
        self.hidden = nn.Linear(self.features.width, hidden)
        self.activation = ACTIVATIONS[activation]
        self.output = nn.Linear(hidden, context.outputs)
        self.apply(initialize)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        hidden_BH = self.activation(self.hidden(self.dropout(self.features(*vectors_BD))))
        return self.output(self.dropout(hidden_BH))  # type: ignore[no-any-return]
