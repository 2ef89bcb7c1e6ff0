"""vectors -> output: dropout, then one linear layer over chosen features of the vectors.

With the features ["u", "v", "|u-v|"] it is the head of Sentence-BERT (Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084).
"""

from torch import Tensor, nn

from minbert.encoder.bert import initialize
from minbert.encoder.dropout import Dropout
from minbert.model.heads.base import Head, HeadContext
from minbert.model.heads.features import Features


class LinearHead(Head):
    """Applies dropout and a linear layer to features of the vectors."""

    output_kind = "logits"

    def __init__(
        self,
        context: HeadContext,
        *,
        dropout: float = 0.1,
        features: tuple[str, ...] = ("u", "v", "|u-v|"),
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.features = Features(context, features)
        self.dropout = Dropout(dropout, context.dropout_generator)
        self.output = nn.Linear(self.features.width, context.num_outputs, bias)
        initialize(self.output)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return self.output(self.dropout(self.features(*vectors_BD)))  # type: ignore[no-any-return]
