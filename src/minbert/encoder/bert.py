"""token ids -> one vector per token: the whole encoder. Devlin et al. 2019, https://arxiv.org/abs/1810.04805

T tokens in the packed batch, S sequences, X either of them, D width, F width of the feed-forward block, W = 3 D
(queries, keys and values side by side).

The embeddings and all matrix products work on T x D, without padding. Only attention (attention.py), where the tokens
of a sequence meet, arranges them in grids. Each module computes in the dtype of its input, whatever the dtype of its
weights: the whole encoder runs in `Bert.dtype` after the embeddings. `EncoderHooks` let adapters change what happens
inside the layers. The encoder knows nothing of tasks, heads or files.
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
# Which token vectors of the last layer are needed: those of all tokens, or of the first token of each sequence.
Reads = Literal["all", "first"]


@dataclass(frozen=True)
class BertConfig:
    """The sizes of an encoder, named as in transformers. The defaults are those of BERT-base."""

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


# by their common names
CONFIGS = {
    "base": BertConfig(),
    "large": BertConfig(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096),
    "minilm": BertConfig(num_hidden_layers=6, hidden_size=384, num_attention_heads=12, intermediate_size=1536),
}


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of the special tokens. The defaults are those of BERT's English vocabulary."""

    cls: int = 101
    sep: int = 102
    mask: int = 103


class DtypeLinear(nn.Linear):
    """nn.Linear in the dtype of its input."""

    def forward(self, x: Tensor) -> Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return functional.linear(x, self.weight.to(x.dtype), bias)


class Norm(nn.LayerNorm):
    """nn.LayerNorm in the dtype of its input."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.bias.to(x.dtype), self.eps)


class EncoderHooks:
    """What adapters may change inside the encoder. These defaults change nothing."""

    def on_embeddings(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """Called with the output of the embeddings."""
        return x_TD

    def layer_for(self, number: int, layer: "Layer") -> "Layer":
        """Called with each layer of the encoder, from 0; the result takes its place."""
        return layer

    def on_qkv(self, layer: int, x_TD: Tensor, qkv_TW: Tensor) -> Tensor:
        """Called with the input of a layer, and the queries, keys and values computed from it."""
        return qkv_TW

    def on_attention(self, layer: int, y_TD: Tensor) -> Tensor:
        """Called with the output of attention, before the residual is added."""
        return y_TD

    def on_hidden(self, layer: int, h_TF: Tensor) -> Tensor:
        """Called with the hidden units of the feed-forward block, after the activation."""
        return h_TF

    def on_feed_forward(self, layer: int, y_TD: Tensor) -> Tensor:
        """Called with the output of the feed-forward block, before the residual is added."""
        return y_TD

    def parallel_branch(self, layer: int, x_TD: Tensor, packed: Packed) -> Tensor | None:
        """Called with the input of a layer; the result is added to the layer's output before its last norm."""
        return None

    def on_output(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """Called with the output of the last layer."""
        return x_TD


NO_HOOKS = EncoderHooks()


class Embeddings(nn.Module):
    """The sum of word, position and segment embeddings, normalized."""

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

    def forward(self, x_TD: Tensor, packed: Packed, hooks: EncoderHooks, number: int) -> Tensor:
        qkv_TW = hooks.on_qkv(number, x_TD, self.qkv(x_TD))
        return self.attend(None, qkv_TW, packed.grid, packed.grid)

    def firsts(self, x_TD: Tensor, first_SD: Tensor, packed: Packed) -> Tensor:
        """The output for the first token of each sequence, S x D, which attends to all its tokens."""
        D = x_TD.shape[1]
        weight, bias = self.qkv.weight.to(x_TD.dtype), self.qkv.bias.to(x_TD.dtype)
        q_SD = functional.linear(first_SD, weight[:D], bias[:D])
        return self.attend(q_SD, functional.linear(x_TD, weight[D:], bias[D:]), packed.first_grid, packed.grid)

    def attend(self, q_TD: Tensor | None, kv_TW: Tensor, queries: Grid, keys: Grid) -> Tensor:
        dropout = self.dropout
        return self.output(attend(q_TD, kv_TW, queries, keys, self.heads, dropout.rate_now, dropout.generator))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention, add and normalize, feed-forward, add and normalize."""

    def __init__(self, config: BertConfig, generator: DropoutGenerator) -> None:
        super().__init__()
        self.attention = SelfAttention(config, generator)
        self.attention_norm = Norm(config.hidden_size, config.layer_norm_eps)
        self.inner = DtypeLinear(config.hidden_size, config.intermediate_size)
        self.outer = DtypeLinear(config.intermediate_size, config.hidden_size)
        self.norm = Norm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob, generator)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, x_TD: Tensor, packed: Packed, hooks: EncoderHooks, number: int) -> Tensor:
        attended_TD = hooks.on_attention(number, self.attention(x_TD, packed, hooks, number))
        return self.feed_forward(x_TD, attended_TD, hooks, number, hooks.parallel_branch(number, x_TD, packed))

    def firsts(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """The output for the first token of each sequence only, S x D, without hooks."""
        first_SD = x_TD.index_select(0, packed.starts_S)
        return self.feed_forward(first_SD, self.attention.firsts(x_TD, first_SD, packed), NO_HOOKS, 0, None)

    def feed_forward(
        self, x_XD: Tensor, attended_XD: Tensor, hooks: EncoderHooks, number: int, branch_XD: Tensor | None
    ) -> Tensor:
        x_XD = self.attention_norm(self.dropout.add(x_XD, attended_XD))
        h_XF = hooks.on_hidden(number, self.activation(self.inner(x_XD)))
        y_XD = hooks.on_feed_forward(number, self.outer(h_XF))
        sum_XD = self.dropout.add(x_XD, y_XD)
        return self.norm(sum_XD if branch_XD is None else sum_XD + branch_XD)  # type: ignore[no-any-return]


class Bert(nn.Module):
    def __init__(
        self,
        config: BertConfig,
        generator: DropoutGenerator | None = None,
        special_tokens: SpecialTokens = SpecialTokens(),
    ) -> None:
        super().__init__()
        self.config = config
        self.dropout_generator = generator or DropoutGenerator()
        self.special_tokens = special_tokens
        # the dtype of the activations; that of the weights may differ
        self.dtype = torch.float32
        self.embeddings = Embeddings(config, self.dropout_generator)
        self.layers = nn.ModuleList(Layer(config, self.dropout_generator) for _ in range(config.num_hidden_layers))
        self.pooler = DtypeLinear(config.hidden_size, config.hidden_size)
        self.apply(initialize)

    def forward(self, packed: Packed, reads: Reads = "all", hooks: EncoderHooks = NO_HOOKS) -> Tensor:
        """One vector per token, T x D; or only those of the first tokens, S x D."""
        if hooks is NO_HOOKS:
            return self.read(packed, [reads])[reads]
        x_TD = hooks.on_embeddings(self.embeddings(packed), packed).to(self.dtype)
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Layer)
            x_TD = hooks.layer_for(number, layer)(x_TD, packed, hooks, number)
        x_TD = hooks.on_output(x_TD, packed)
        return x_TD.index_select(0, packed.starts_S) if reads == "first" else x_TD

    def read(self, packed: Packed, wanted: Iterable[Reads]) -> dict[Reads, Tensor]:
        """The wanted token vectors, without hooks; the layers below the last run once for all of them."""
        x_TD = self.embeddings(packed).to(self.dtype)
        last = self.layers[-1]
        assert isinstance(last, Layer)
        for layer in self.layers[:-1]:
            x_TD = layer(x_TD, packed, NO_HOOKS, 0)
        # if only [CLS] is read, most of the last layer need not be computed
        return {
            reads: last.firsts(x_TD, packed) if reads == "first" else last(x_TD, packed, NO_HOOKS, 0)
            for reads in wanted
        }

    def pool(self, x_TD: Tensor, packed: Packed) -> Tensor:
        """BERT's pooler output, S x D: the vector of the first token, through one more layer and tanh."""
        return torch.tanh(self.pooler(x_TD[packed.starts_S]))


def initialize(module: nn.Module) -> None:
    """BERT's initial weights: N(0, 0.02), zero biases."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
