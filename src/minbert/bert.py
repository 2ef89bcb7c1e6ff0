"""token ids -> one vector a token: the whole encoder.

T tokens in the packed batch, S sequences, D width, F inner width.

The embeddings and all matrix products work on T x D, without padding. Only attention (attend.py), where tokens
meet the other tokens of their sequence, lays them out on grids. Each part computes in the dtype of its input,
whatever dtype its weights are kept in: the whole encoder runs in `Bert.dtype` from the embeddings on.
Knows nothing of tasks, heads or files. Devlin et al. 2019, https://arxiv.org/abs/1810.04805
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.attend import attend
from minbert.dropout import Dropout, Noise
from minbert.packed import Grid, Packed

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
}
# Which token vectors of the last layer are wanted: of all tokens, or of the first of each sequence.
Reads = Literal["all", "first"]


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder. The defaults are those of BERT-base."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    inner: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    segments: int = 2
    activation: str = "gelu"
    norm_epsilon: float = 1e-12
    dropout: float = 0.1
    attention_dropout: float = 0.1


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight.to(x.dtype), self.bias.to(x.dtype))


class Norm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class Embeddings(nn.Module):
    """Word + position + segment, normed."""

    def __init__(self, shape: Shape, noise: Noise) -> None:
        super().__init__()
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.segment = nn.Embedding(shape.segments, shape.width)
        self.norm = Norm(shape.width, shape.norm_epsilon)
        self.dropout = Dropout(shape.dropout, noise)

    def forward(self, packed: Packed) -> Tensor:
        x_TD = self.word(packed.ids_T) + self.position(packed.positions_T) + self.segment(packed.segments_T)
        return self.dropout(self.norm(x_TD))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Multi-head self-attention within each sequence."""

    def __init__(self, shape: Shape, noise: Noise) -> None:
        super().__init__()
        self.heads = shape.heads
        # query, key and value in one product
        self.qkv = Linear(shape.width, 3 * shape.width)
        self.output = Linear(shape.width, shape.width)
        self.dropout = Dropout(shape.attention_dropout, noise)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.mix(None, self.qkv(x_TD), packed.grid, packed.grid)

    def firsts(self, x_TD: Tensor, first_SD: Tensor, packed: Packed) -> Tensor:
        """What the first token of each sequence takes from all its tokens, S x D."""
        D = x_TD.shape[1]
        weight, bias = self.qkv.weight.to(x_TD.dtype), self.qkv.bias.to(x_TD.dtype)
        q_SD = functional.linear(first_SD, weight[:D], bias[:D])
        return self.mix(q_SD, functional.linear(x_TD, weight[D:], bias[D:]), packed.first_grid, packed.grid)

    def mix(self, q_TD: Tensor | None, kv_TW: Tensor, queries: Grid, keys: Grid) -> Tensor:
        dropout = self.dropout
        return self.output(attend(q_TD, kv_TW, queries, keys, self.heads, dropout.rate_now, dropout.noise))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention, add and norm, feed-forward, add and norm."""

    def __init__(self, shape: Shape, noise: Noise) -> None:
        super().__init__()
        self.attention = Attention(shape, noise)
        self.attention_norm = Norm(shape.width, shape.norm_epsilon)
        self.inner = Linear(shape.width, shape.inner)
        self.outer = Linear(shape.inner, shape.width)
        self.norm = Norm(shape.width, shape.norm_epsilon)
        self.dropout = Dropout(shape.dropout, noise)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        return self.feed_forward(x_TD, self.attention(x_TD, packed))

    def firsts(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The same for the first token of each sequence alone, S x D."""
        first_SD = x_TD.index_select(0, packed.starts_S)
        return self.feed_forward(first_SD, self.attention.firsts(x_TD, first_SD, packed))

    def feed_forward(self, x_XD: Tensor, attended_XD: Tensor) -> Tensor:
        x_XD = self.attention_norm(self.dropout.add(x_XD, attended_XD))
        y_XD = self.outer(self.activation(self.inner(x_XD)))
        return self.norm(self.dropout.add(x_XD, y_XD))  # type: ignore[no-any-return]


class Bert(nn.Module):
    def __init__(self, shape: Shape, noise: Noise | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.noise = noise or Noise()
        # what it computes in; the weights may be kept in another
        self.dtype = torch.float32
        self.embeddings = Embeddings(shape, self.noise)
        self.layers = nn.ModuleList(Layer(shape, self.noise) for _ in range(shape.layers))
        self.pooler = Linear(shape.width, shape.width)
        self.apply(initialise)

    def forward(self, packed: Packed, reads: Reads = "all") -> Tensor:
        """One vector a token, T x D; or only those of the first tokens, S x D."""
        return self.encode(self.embeddings(packed), packed, reads)

    def encode(self, x_TD: Tensor, packed: Packed, reads: Reads = "all") -> Tensor:
        """The same from the embeddings on, for those who want to change these first."""
        x_TD = x_TD.to(self.dtype)
        last = self.layers[-1]
        assert isinstance(last, Layer)
        for layer in self.layers[:-1]:
            x_TD = layer(x_TD, packed)
        # what nobody reads is not computed: most of the last layer, where only [CLS] goes on
        return last.firsts(x_TD, packed) if reads == "first" else last(x_TD, packed)

    def pool(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """BERT's own sentence vector, S x D: the first token through one more layer."""
        return torch.tanh(self.pooler(x_TD[packed.starts_S]))


def initialise(module: nn.Module) -> None:
    """BERT's initial weights: N(0, 0.02), zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
