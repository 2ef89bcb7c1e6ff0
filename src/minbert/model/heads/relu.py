"""vectors -> output: dropout, ReLU, then one linear layer. Report A's sentiment head (its section 3.2)."""

from torch import Tensor
from torch.nn import functional

from minbert.model.heads.linear import LinearHead


class ReluHead(LinearHead):
    """Applies dropout, ReLU and a linear layer to features of the vectors."""

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return self.output(functional.relu(self.dropout(self.features(*vectors_BD))))  # type: ignore[no-any-return]
