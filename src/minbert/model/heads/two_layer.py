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
    """Applies two linear layers with an activation between them to features of the vectors."""

    output_kind = "logits"

    def __init__(
        self,
        context: HeadContext,
        *,
        hidden: int | None = None,
        activation: Literal["relu", "gelu", "tanh"] = "relu",
        dropout: float = 0.1,
        features: tuple[str, ...] = ("u", "v", "|u-v|"),
    ) -> None:
        """`hidden`: the width between the layers; by default that of a vector."""
        super().__init__()
        if hidden is not None and hidden < 1:
            raise ValueError(f"hidden must be at least 1, not {hidden}")
        hidden = hidden or context.width
        self.features = Features(context, features)
        self.dropout = Dropout(dropout, context.dropout_generator)
        self.hidden = nn.Linear(self.features.width, hidden)
        self.activation = ACTIVATIONS[activation]
        self.output = nn.Linear(hidden, context.num_outputs)
        self.apply(initialize)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        hidden_BH = self.activation(self.hidden(self.dropout(self.features(*vectors_BD))))
        return self.output(self.dropout(hidden_BH))  # type: ignore[no-any-return]
