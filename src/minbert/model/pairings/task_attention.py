"""Attention layers of the task's own on top of the encoder: self-attention for single texts, cross-attention for pairs.

A self-attention layer has query, key, value and output matrices. A cross-attention layer has one more, with an
activation between the two: O(GELU(I(heads))). Report D says only "one more 768 by 768 linear layer for
intermediate transformation"; BERT's own intermediate layer has a GELU, and without one the two matrices are as good as
one. No residual, no norm, no bias: its first token is a weighted mean of all tokens.
"""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from minbert.config.task import Task
from minbert.data.packed import Grid, Packed
from minbert.encoder.bert import Bert, DtypeLinear, initialize
from minbert.model.adapters.base import Activation, activation_of
from minbert.model.pairings.base import Pairing
from minbert.model.pairings.grid_attention import GridAttention


class TaskAttention(Pairing):
    """Adds the task's own attention layers on top of the encoder: self-attention for single texts, cross-attention
    for pairs.
    """

    layout = "bi_encoder"
    reads = "all"

    def __init__(
        self,
        bert: Bert,
        task: Task,
        *,
        layers: int = 1,
        start: Literal["default", "uniform"] = "default",
        dropout: float | None = None,
        norm: bool = False,
        activation: Activation = "gelu",
    ) -> None:
        """`start`: initial weights from N(0, 0.02), or from U(0.9, 1), as report D tried.

        `norm`: normalize each layer's output, without parameters; several layers of U(0.9, 1) overflow without it.
        `activation`: between the last two matrices of a cross-attention layer.
        """
        super().__init__(bert, task)
        if layers < 1:
            raise ValueError(f"layers {layers} is not at least 1")
        rate = bert.config.attention_probs_dropout_prob if dropout is None else dropout
        self.paired = task.paired
        self.layers = nn.ModuleList(TaskLayer(bert, rate, task.paired, norm, activation) for _ in range(layers))
        if start == "uniform":
            for parameter in self.parameters():
                nn.init.uniform_(parameter, 0.9, 1.0)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        queries, keys = packed.crossed if self.paired else (packed.grid, packed.grid)
        for layer in self.layers:
            x_TD = layer(x_TD, queries, keys)
        return x_TD


class TaskLayer(nn.Module):
    def __init__(self, bert: Bert, dropout: float, crossed: bool, norm: bool, activation: Activation) -> None:
        super().__init__()
        width = bert.config.hidden_size
        self.attention = GridAttention(bert, bert.config.num_attention_heads, dropout, bias=False)
        self.between = DtypeLinear(width, width, bias=False) if crossed else None
        self.activation = activation_of(activation)
        self.output = DtypeLinear(width, width, bias=False)
        self.epsilon = bert.config.layer_norm_eps if norm else None
        self.apply(initialize)

    def forward(self, x_TD: Tensor, queries: Grid, keys: Grid) -> Tensor:
        y_TD = self.attention(x_TD, queries, keys)
        if self.between is not None:
            y_TD = self.activation(self.between(y_TD))
        y_TD = self.output(y_TD)
        return y_TD if self.epsilon is None else functional.layer_norm(y_TD, y_TD.shape[-1:], eps=self.epsilon)
