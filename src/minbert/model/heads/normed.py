"""vectors -> output: layer norm, ReLU, dropout, then one linear layer. Report A's paraphrase head (its section 3.2)."""

from torch import Tensor, nn
from torch.nn import functional

from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead


class NormedHead(LinearHead):
    """Applies layer norm, ReLU, dropout and a linear layer to features of the vectors."""

    def __init__(
        self, context: HeadContext, *, dropout: float = 0.1, features: tuple[str, ...] = ("u", "v", "u-v")
    ) -> None:
        super().__init__(context, dropout=dropout, features=features)
        # not a batch norm, which would make a prediction depend on the other examples of its batch
        self.norm = nn.LayerNorm(self.features.width)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        x_BW = functional.relu(self.norm(self.features(*vectors_BD)))
        return self.output(self.dropout(x_BW))  # type: ignore[no-any-return]
