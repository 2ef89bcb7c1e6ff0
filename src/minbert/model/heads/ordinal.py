"""vectors -> one score minus C - 1 increasing thresholds between C labels: the logits of "the label is above it".

The proportional odds model (McCullagh 1980). A threshold is the one below it plus the softplus of a parameter, so that
training cannot put the thresholds out of order.

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
    """Compares one score with learned, ordered thresholds between the labels."""

    output_kind = "ordinal_logits"

    def __init__(
        self, context: HeadContext, *, dropout: float = 0.1, features: tuple[str, ...] = ("u", "v", "|u-v|")
    ) -> None:
        super().__init__()
        self.features = Features(context, features)
        self.dropout = Dropout(dropout, context.dropout_generator)
        # without a bias: the thresholds act as one
        self.score = nn.Linear(self.features.width, 1, bias=False)
        initialize(self.score)
        self.steps_O = nn.Parameter(steps_to(even_thresholds(context.num_outputs)))

    @property
    def thresholds_O(self) -> Tensor:
        return torch.cat([self.steps_O[:1], functional.softplus(self.steps_O[1:])]).cumsum(0)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        return self.score(self.dropout(self.features(*vectors_BD))) - self.thresholds_O  # type: ignore[no-any-return]


def even_thresholds(count: int) -> Tensor:
    """The thresholds for which a score of 0 makes all labels equally likely."""
    return torch.arange(1, count + 1).div(count + 1).logit()


def steps_to(thresholds_O: Tensor) -> Tensor:
    """The parameters that give these thresholds."""
    return torch.cat([thresholds_O[:1], thresholds_O.diff().expm1().log()])
