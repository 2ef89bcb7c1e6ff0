"""token ids -> one vector a token: the whole encoder.

T tokens in the packed batch, S sequences, D width, F inner width.

The embeddings and all matrix products work on T x D, without padding. Only attention (attend.py), where tokens
meet the other tokens of their sequence, lays them out on grids. Each part computes in the dtype of its input,
whatever dtype its weights are kept in: the whole encoder runs in `Bert.dtype` from the embeddings on.
Others may enter the layers at their `Ports`. Knows nothing of tasks, heads or files. Devlin et al. 2019, https://arxiv.org/abs/1810.04805
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.data.packed import Grid, Packed
from minbert.encoder.attention import attend
from minbert.encoder.dropout import Dropout, DropoutGenerator

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
class BertConfig:
    """The sizes of an encoder. The defaults are those of BERT-base."""

    num_hidden_layers: int = 12
    hidden_size: int = 768
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    vocab_size: int = 30522
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1


# by the names that people call them
CONFIGS = {
    "base": BertConfig(),
    "large": BertConfig(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096),
    "minilm": BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536),
}


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of the tokens that are no words. The defaults are those of BERT's English vocabulary."""

    cls: int = 101
    sep: int = 102
    mask: int = 103


class DtypeLinear(nn.Linear):
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

    def __init__(self, config: BertConfig, generator: DropoutGenerator) -> None:
        super().__init__()
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = Norm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob, generator)

    def forward(self, packed: Packed) -> Tensor:
        x_TD = self.word(packed.ids_T) + self.position(packed.positions_T) + self.segment(packed.segments_T)
        return self.dropout(self.norm(x_TD))  # type: ignore[no-any-return]


class SelfAttention(nn.Module):
    """Multi-head self-attention within each sequence."""

    def __init__(self, config: BertConfig, generator: DropoutGenerator) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        # query, key and value in one product
        self.qkv = DtypeLinear(config.hidden_size, 3 * config.hidden_size)
        self.output = DtypeLinear(config.hidden_size, config.hidden_size)
        self.dropout = Dropout(config.attention_probs_dropout_prob, generator)

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
        return self.output(attend(q_TD, kv_TW, queries, keys, self.heads, dropout.rate_now, dropout.generator))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention, add and norm, feed-forward, add and norm."""

    def __init__(self, config: BertConfig, generator: DropoutGenerator) -> None:
        super().__init__()
        self.attention = SelfAttention(config, generator)
        self.attention_norm = Norm(config.hidden_size, config.layer_norm_eps)
        self.inner = DtypeLinear(config.hidden_size, config.intermediate_size)
        self.outer = DtypeLinear(config.intermediate_size, config.hidden_size)
        self.norm = Norm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob, generator)
        self.activation = ACTIVATIONS[config.hidden_act]

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
    def __init__(self, config: BertConfig, generator: DropoutGenerator | None = None) -> None:
        super().__init__()
        self.config = config
        self.dropout_generator = generator or DropoutGenerator()
        self.special_tokens = SpecialTokens()
        # what it computes in; the weights may be kept in another
        self.dtype = torch.float32
        self.embeddings = Embeddings(config, self.dropout_generator)
        self.layers = nn.ModuleList(Layer(config, self.dropout_generator) for _ in range(config.num_hidden_layers))
        self.pooler = DtypeLinear(config.hidden_size, config.hidden_size)
        self.apply(initialize)

    def forward(self, packed: Packed, reads: Reads = "all", ports: Ports = NO_PORTS) -> Tensor:
        """One vector a token, T x D; or only those of the first tokens, S x D."""
        if ports is NO_PORTS:
            return self.read(packed, [reads])[reads]
        x_TD = ports.embedded(self.embeddings(packed), packed).to(self.dtype)
        for number, layer in enumerate(self.layers):
            x_TD = layer(x_TD, packed, ports, number)
        x_TD = ports.above(x_TD, packed)
        return x_TD.index_select(0, packed.starts_S) if reads == "first" else x_TD

    def read(self, packed: Packed, wanted: Iterable[Reads]) -> dict[Reads, Tensor]:
        """The wanted token vectors, with nothing at the ports; the layers below the last run once for all of them."""
        x_TD = self.embeddings(packed).to(self.dtype)
        last = self.layers[-1]
        assert isinstance(last, Layer)
        for layer in self.layers[:-1]:
            x_TD = layer(x_TD, packed, NO_PORTS, 0)
        # the last layer computes only what is read: of most tasks, the vector of [CLS]
        return {
            reads: last.firsts(x_TD, packed) if reads == "first" else last(x_TD, packed, NO_PORTS, 0)
            for reads in wanted
        }

    def pool(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """BERT's own sentence vector, S x D: the first token through one more layer."""
        return torch.tanh(self.pooler(x_TD[packed.starts_S]))


def initialize(module: nn.Module) -> None:
    """BERT's initial weights: N(0, 0.02), zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
