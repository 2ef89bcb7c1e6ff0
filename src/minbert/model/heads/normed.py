"""vectors -> output: layer norm, ReLU, dropout, then one linear layer. Report A's paraphrase head (its section 3.2)."""

from torch import Tensor, nn
from torch.nn import functional

from minbert.model.heads.base import HeadContext
from minbert.model.heads.linear import LinearHead


class NormedHead(LinearHead):
    def __init__(
        self, context: HeadContext, *, dropout: float = 0.1, features: tuple[str, ...] = ("u", "v", "u-v")
    ) -> None:
        super().__init__(context, dropout=dropout, features=features)
        # a layer norm, because a batch norm would let an answer depend on the other examples
        self.norm = nn.LayerNorm(self.features.width)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        x_BW = functional.relu(self.norm(self.features(*vectors_BD)))
        return self.output(self.dropout(x_BW))  # type: ignore[no-any-return]
