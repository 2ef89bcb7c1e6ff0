"""vectors -> one score less C - 1 rising thresholds between C labels: the log-odds that the label is above each.

The proportional odds model (McCullagh 1980). A threshold is the one below it plus softplus of a free number, so no
step of learning can put them out of order.

B examples, O = C - 1 thresholds.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.encoder.bert import initialize
from minbert.encoder.dropout import Dropout
from minbert.model.heads.base import Head, HeadContext
from minbert.model.heads.features import Features


class OrdinalHead(Head):
    emits = "ordered"

    def __init__(
        self, context: HeadContext, *, dropout: float = 0.1, features: tuple[str, ...] = ("u", "v", "|u-v|")
    ) -> None:
        super().__init__()
        self.features = Features(context, features)
        self.dropout = Dropout(dropout, context.dropout_generator)
        # without a bias: the thresholds have it
        self.score = nn.Linear(self.features.width, 1, bias=False)
        initialize(self.score)
        self.steps_O = nn.Parameter(steps_to(even_thresholds(context.outputs)))

    @property
    def thresholds_O(self) -> Tensor:
        return torch.cat([self.steps_O[:1], functional.softplus(self.steps_O[1:])]).cumsum(0)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return self.score(self.dropout(self.features(*vectors_BD))) - self.thresholds_O  # type: ignore[no-any-return]


def even_thresholds(count: int) -> Tensor:
    """Where a score of 0 makes all labels equally likely."""
    return torch.arange(1, count + 1).div(count + 1).logit()


def steps_to(thresholds_O: Tensor) -> Tensor:
    """The free numbers that give these thresholds."""
    return torch.cat([thresholds_O[:1], thresholds_O.diff().expm1().log()])
