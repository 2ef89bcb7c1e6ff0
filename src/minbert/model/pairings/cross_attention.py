"""Each text is encoded on its own, then its tokens attend to those of the other text, with the same weights both ways.

A = softmax(Q K' / sqrt(d_k)) V, with Q from one text, K and V from the other, and d_k the width of a head; without a
residual by default.
"""

from torch import Tensor

from minbert.config.task import Task
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, DtypeLinear, Norm, Reads, initialize
from minbert.encoder.dropout import Dropout
from minbert.model.pairings.base import Pairing
from minbert.model.pairings.grid_attention import GridAttention


class CrossAttention(Pairing):
    """Encodes each text on its own, then lets the tokens of each text attend to those of the other."""

    layout = "bi_encoder"
    reads: Reads = "all"

    def __init__(
        self,
        bert: Bert,
        task: Task,
        *,
        heads: int | None = None,
        dropout: float = 0.3,
        residual: bool = False,
        shared: str | None = None,
    ) -> None:
        """`shared`: a name; tasks with the same name share the weights."""
        super().__init__(bert, task)
        self.paired = task.paired
        if not task.paired:
            # a single text has no other to attend to: it passes through unchanged, as with the other pairings
            self.reads = "first"
            return
        self.shared = shared or None
        self.dropout = Dropout(dropout, bert.dropout_generator)
        self.attention = GridAttention(
            bert, heads or bert.config.num_attention_heads, bert.config.attention_probs_dropout_prob, bias=True
        )
        self.output = DtypeLinear(bert.config.hidden_size, bert.config.hidden_size)
        self.norm = Norm(bert.config.hidden_size, bert.config.layer_norm_eps) if residual else None
        initialize(self.output)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        if not self.paired:
            return x_TD
        y_TD = self.output(self.attention(self.dropout(x_TD), *packed.crossed))
        return y_TD if self.norm is None else self.norm(x_TD + y_TD)  # type: ignore[no-any-return]
