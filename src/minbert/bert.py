"""token ids -> one vector a token: the whole encoder.

T tokens in the packed batch, S sequences, L tokens in the longest, D width, H heads, K = D / H, F inner width.

The embeddings and all matrix products work on T x D, without padding. Only attention, where tokens meet
the other tokens of their sequence, lays them out on an S x L grid for the length of one product.
Knows nothing of tasks, heads or files. Devlin et al. 2019, https://arxiv.org/abs/1810.04805
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.batch import Packed
from minbert.dropout import Dropout, Noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
}


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


class Embeddings(nn.Module):
    """Word + position + segment, normed."""

    def __init__(self, shape: Shape, noise: Noise) -> None:
        super().__init__()
        self.word = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.segment = nn.Embedding(shape.segments, shape.width)
        self.norm = nn.LayerNorm(shape.width, shape.norm_epsilon)
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
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.output = nn.Linear(shape.width, shape.width)
        self.dropout = Dropout(shape.attention_dropout, noise)

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        qkv_SLW = packed.grid(self.qkv(x_TD))
        S, L, W = qkv_SLW.shape
        K = W // 3 // self.heads
        q_SHLK, k_SHLK, v_SHLK = qkv_SLW.view(S, L, 3, self.heads, K).permute(2, 0, 3, 1, 4)
        scores_SHLL = (q_SHLK * K**-0.5) @ k_SHLK.transpose(-1, -2)
        if not packed.even:
            scores_SHLL = scores_SHLL.masked_fill(packed.holes_SL[:, None, None, :], float("-inf"))
        weights_SHLL = self.dropout(scores_SHLL.softmax(-1))
        mixed_SLD = (weights_SHLL @ v_SHLK).transpose(1, 2).reshape(S, L, W // 3)
        return self.output(packed.ungrid(mixed_SLD))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention, add and norm, feed-forward, add and norm."""

    def __init__(self, shape: Shape, noise: Noise) -> None:
        super().__init__()
        self.attention = Attention(shape, noise)
        self.attention_norm = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.inner = nn.Linear(shape.width, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.width)
        self.norm = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.dropout = Dropout(shape.dropout, noise)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x_TD: Tensor, packed: Packed) -> Tensor:
        x_TD = self.attention_norm(x_TD + self.dropout(self.attention(x_TD, packed)))
        y_TD = self.outer(self.activation(self.inner(x_TD)))
        return self.norm(x_TD + self.dropout(y_TD))  # type: ignore[no-any-return]


class Bert(nn.Module):
    def __init__(self, shape: Shape, noise: Noise | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.noise = noise or Noise()
        self.embeddings = Embeddings(shape, self.noise)
        self.layers = nn.ModuleList(Layer(shape, self.noise) for _ in range(shape.layers))
        self.pooler = nn.Linear(shape.width, shape.width)
        self.apply(initialise)

    def forward(self, packed: Packed) -> Tensor:
        """One vector a token, T x D."""
        return self.encode(self.embeddings(packed), packed)

    def encode(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The same from the embeddings on, for those who want to change these first."""
        for layer in self.layers:
            x_TD = layer(x_TD, packed)
        return x_TD

    def pool(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """BERT's own sentence vector, S x D: the first token through one more layer."""
        return torch.tanh(self.pooler(x_TD[packed.starts_S]))


def initialise(module: nn.Module) -> None:
    """BERT's initial weights: N(0, 0.02), zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
