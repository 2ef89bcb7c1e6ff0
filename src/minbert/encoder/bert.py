"""token ids -> one vector a token: the whole encoder.

T tokens in the packed batch, S sequences, D width, F inner width.

The embeddings and all matrix products work on T x D, without padding. Only attention (attend.py), where tokens
meet the other tokens of their sequence, lays them out on grids. Each part computes in the dtype of its input,
whatever dtype its weights are kept in: the whole encoder runs in `Bert.dtype` from the embeddings on.
Others may enter the layers at their `Ports`. Knows nothing of tasks, heads or files. Devlin et al. 2019, https://arxiv.org/abs/1810.04805
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.data.packed import Grid, Packed
from minbert.encoder.attention import attend
from minbert.encoder.dropout import Dropout, Noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
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


# by the names that people call them
SHAPES = {
    "base": Shape(),
    "large": Shape(layers=24, width=1024, heads=16, inner=4096),
    "minilm": Shape(layers=6, width=384, heads=12, inner=1536),
}


@dataclass(frozen=True)
class Marks:
    """The ids of the tokens that are no words. The defaults are those of BERT's English vocabulary."""

    cls: int = 101
    sep: int = 102
    mask: int = 103


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return functional.linear(x, self.weight.to(x.dtype), bias)


class Norm(nn.LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class Ports:
    """Where others may enter the layers. As they are here, they change nothing."""

    def embedded(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """What the embeddings give."""
        return x_TD

    def qkv(self, layer: int, x_TD: Tensor, qkv_TW: Tensor) -> Tensor:
        """Queries, keys and values of a layer, made from its input."""
        return qkv_TW

    def attended(self, layer: int, y_TD: Tensor) -> Tensor:
        """What attention gives, before it is added and normed."""
        return y_TD

    def fed(self, layer: int, y_TD: Tensor) -> Tensor:
        """What the feed-forward part gives, before it is added and normed."""
        return y_TD

    def beside(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor | None:
        """What is added to a layer's sum before its last norm, from its input."""
        return None

    def above(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """What comes after the last layer."""
        return x_TD


NO_PORTS = Ports()


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

    def forward(self, x_TD: Tensor, packed: Packed, ports: Ports, number: int) -> Tensor:
        qkv_TW = ports.qkv(number, x_TD, self.qkv(x_TD))
        return self.mix(None, qkv_TW, packed.grid, packed.grid)

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

    def forward(self, x_TD: Tensor, packed: Packed, ports: Ports, number: int) -> Tensor:
        attended_TD = ports.attended(number, self.attention(x_TD, packed, ports, number))
        return self.feed_forward(x_TD, attended_TD, ports, number, ports.beside(number, x_TD, packed))

    def firsts(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The same for the first token of each sequence alone, S x D, with nothing at the ports."""
        first_SD = x_TD.index_select(0, packed.starts_S)
        return self.feed_forward(first_SD, self.attention.firsts(x_TD, first_SD, packed), NO_PORTS, 0, None)

    def feed_forward(
        self, x_XD: Tensor, attended_XD: Tensor, ports: Ports, number: int, beside_XD: Tensor | None
    ) -> Tensor:
        x_XD = self.attention_norm(self.dropout.add(x_XD, attended_XD))
        y_XD = ports.fed(number, self.outer(self.activation(self.inner(x_XD))))
        sum_XD = self.dropout.add(x_XD, y_XD)
        return self.norm(sum_XD if beside_XD is None else sum_XD + beside_XD)  # type: ignore[no-any-return]


class Bert(nn.Module):
    def __init__(self, shape: Shape, noise: Noise | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.noise = noise or Noise()
        self.marks = Marks()
        # what it computes in; the weights may be kept in another
        self.dtype = torch.float32
        self.embeddings = Embeddings(shape, self.noise)
        self.layers = nn.ModuleList(Layer(shape, self.noise) for _ in range(shape.layers))
        self.pooler = Linear(shape.width, shape.width)
        self.apply(initialise)

    def forward(self, packed: Packed, reads: Reads = "all", ports: Ports = NO_PORTS) -> Tensor:
        """One vector a token, T x D; or only those of the first tokens, S x D."""
        x_TD = ports.embedded(self.embeddings(packed), packed).to(self.dtype)
        if ports is not NO_PORTS:
            for number, layer in enumerate(self.layers):
                x_TD = layer(x_TD, packed, ports, number)
            x_TD = ports.above(x_TD, packed)
            return x_TD.index_select(0, packed.starts_S) if reads == "first" else x_TD
        last = self.layers[-1]
        assert isinstance(last, Layer)
        for layer in self.layers[:-1]:
            x_TD = layer(x_TD, packed, NO_PORTS, 0)
        # what nobody reads is not computed: most of the last layer, where only [CLS] goes on
        return last.firsts(x_TD, packed) if reads == "first" else last(x_TD, packed, NO_PORTS, 0)

    def pool(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """BERT's own sentence vector, S x D: the first token through one more layer."""
        return torch.tanh(self.pooler(x_TD[packed.starts_S]))


def initialise(module: nn.Module) -> None:
    """BERT's initial weights: N(0, 0.02), zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
