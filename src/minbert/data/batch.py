"""Texts -> EncodedTexts -> Batch of packed tokens: sequences end to end, no padding.

T tokens in a batch, S sequences, B examples. S = B, or 2B where the two texts of a pair are encoded separately or in
both orders, or 3B where they are encoded separately and together: first all first sequences, then all second ones, ...
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minbert.data.packed import Packed
from minbert.data.tokenizer import Tokenizer, Tokens, over_character_limit

# cross_encoder: [CLS] a [SEP] b [SEP]; bi_encoder: a and b separately; both_orders: a with b, and b with a;
# combined: a, b, and a with b; combined_both_orders: also b with a; simcse: the first text twice
Layout = Literal["cross_encoder", "bi_encoder", "both_orders", "combined", "combined_both_orders", "simcse"]
# which texts of a pair make each sequence
PAIR_ORDERS: dict[Layout, list[list[int]]] = {
    "cross_encoder": [[0, 1]],
    "bi_encoder": [[0], [1]],
    "both_orders": [[0, 1], [1, 0]],
    "combined": [[0], [1], [0, 1]],
    "combined_both_orders": [[0], [1], [0, 1], [1, 0]],
}
# (the tokenizer, texts, how many of a text's tokens can be kept) -> a tag for each token
TagTokens = Callable[[Tokenizer, Sequence[str], int], Tokens]


@dataclass(frozen=True)
class Batch:
    """Some examples of one task as the model reads them."""

    task: str
    packed: Packed
    labels_B: Tensor | None
    # their rows in the task's dataset
    rows_B: npt.NDArray[np.int64]

    @property
    def examples(self) -> int:
        return len(self.rows_B)

    @property
    def tokens(self) -> int:
        return len(self.packed.ids_T)

    def to(self, device: torch.device) -> "Batch":
        labels = None if self.labels_B is None else self.labels_B.to(device)
        return replace(self, packed=self.packed.to(device), labels_B=labels)


@dataclass(frozen=True)
class EncodedTexts:
    """Every example of a dataset as token sequences, special tokens included."""

    parts: tuple[Tokens, ...]
    # how many tokens of each sequence of two texts belong to segment 0; empty: all of them
    first_segments: tuple[npt.NDArray[np.int64], ...]
    # which examples were too long to be encoded whole
    truncated: npt.NDArray[np.bool_]
    # tokens of the longest sequence of each example before truncation
    whole_lengths: npt.NDArray[np.int64]
    # a tag for each token of the parts; empty: not used
    tags: tuple[Tokens, ...] = ()

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """Tokens of each example, over all its sequences."""
        return sum((part.lengths for part in self.parts[1:]), start=self.parts[0].lengths)

    def take(self, rows: npt.NDArray[np.int64]) -> "EncodedTexts":
        """Some of the examples, in the given order."""
        firsts = tuple(first[rows] for first in self.first_segments)
        parts, tags = (tuple(part.take(rows) for part in each) for each in (self.parts, self.tags))
        truncated, whole = self.truncated[rows], self.whole_lengths[rows]
        return replace(self, parts=parts, first_segments=firsts, truncated=truncated, whole_lengths=whole, tags=tags)

    def pack(self, rows: npt.NDArray[np.int64]) -> Packed:
        taken = [part.take(rows) for part in self.parts]
        ids = end_to_end(taken)
        lengths = np.concatenate([part.lengths for part in taken])
        segments = np.zeros(len(ids), np.int64)
        if self.first_segments:
            place = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            firsts = np.concatenate([first[rows] for first in self.first_segments])
            segments = (place >= np.repeat(firsts, lengths)).astype(np.int64)
        tags_T = torch.from_numpy(end_to_end([part.take(rows) for part in self.tags])) if self.tags else None
        return Packed(torch.from_numpy(ids), torch.from_numpy(segments), torch.from_numpy(lengths), tags_T=tags_T)


def end_to_end(parts: list[Tokens]) -> npt.NDArray[np.int64]:
    return np.concatenate([part.flat for part in parts]).astype(np.int64)


def encode_texts(
    tokenizer: Tokenizer,
    texts: tuple[list[str], ...],
    layout: Layout,
    max_length: int,
    tag: TagTokens | None = None,
    tokens: list[Tokens] | None = None,
) -> EncodedTexts:
    """Texts -> sequences: [CLS] a [SEP]; pairs as [CLS] a [SEP] b [SEP], in both orders, separately, or both ways.

    `tokens`: the tokens of the texts, where they are known already.
    """
    columns = texts[:1] if layout == "simcse" else texts
    if tokens is None:
        tokens = [tokenizer.encode(column, max_length) for column in columns]
    tokens = tokens[: len(columns)]
    orders = PAIR_ORDERS[layout] if len(tokens) == 2 else [[0]]
    # how many tokens of each text a sequence keeps
    keep = [kept_tokens([tokens[i].lengths for i in order], max_length) for order in orders]
    # the longest sequence of each example before truncation
    whole = np.max([np.sum([tokens[i].lengths + 1 for i in order], axis=0) + 1 for order in orders], axis=0)

    def wrapped(rows: list[Tokens], first: int, end: int) -> tuple[Tokens, ...]:
        parts = tuple(
            wrap([rows[i] for i in order], kept, first, end) for order, kept in zip(orders, keep, strict=True)
        )
        return parts * 2 if layout == "simcse" else parts

    # only the first characters of a very long text were tokenized
    truncated = np.any([over_character_limit(column, max_length) for column in columns], axis=0)
    for order, kept in zip(orders, keep, strict=True):
        truncated |= np.any([tokens[i].lengths > each for i, each in zip(order, kept, strict=True)], axis=0)
    firsts = tuple(kept[0] + 2 for kept in keep) if any(len(order) == 2 for order in orders) else ()
    tags = wrapped([tag(tokenizer, column, max_length) for column in columns], 0, 0) if tag else ()
    return EncodedTexts(wrapped(tokens, tokenizer.cls, tokenizer.sep), firsts, truncated, whole, tags)


def kept_tokens(lengths: list[npt.NDArray[np.int64]], max_length: int) -> list[npt.NDArray[np.int64]]:
    """How many tokens of each text fit into a sequence of one or two texts with its special tokens."""
    if len(lengths) == 1:
        return [np.minimum(lengths[0], max_length - 2)]
    return share_length(lengths[0], lengths[1], max_length - 3)


def share_length(
    first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], budget: int
) -> list[npt.NDArray[np.int64]]:
    """How many tokens each text of a pair keeps: the longer one is truncated first."""
    over = first + second > budget
    half = budget // 2
    shorter = np.minimum(np.minimum(first, second), half)
    kept_first = np.where(first <= second, shorter, budget - shorter)
    kept_second = np.where(first <= second, budget - shorter, shorter)
    return [np.where(over, kept_first, first), np.where(over, kept_second, second)]


def wrap(columns: list[Tokens], keep: list[npt.NDArray[np.int64]], first: int, end: int) -> Tokens:
    """`first` ([CLS]), the kept tokens of each text and an `end` ([SEP]) after each: one sequence per row."""
    lengths = 1 + sum(kept + 1 for kept in keep)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.full(offsets[-1], end, np.int32)  # every place that is not set below is an end
    flat[offsets[:-1]] = first
    start = offsets[:-1] + 1
    for tokens, kept in zip(columns, keep, strict=True):
        inside = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        flat[np.repeat(start, kept) + inside] = tokens.flat[np.repeat(tokens.offsets[:-1], kept) + inside]
        start = start + kept + 1
    return Tokens(flat, offsets)


def collate(task: str, sequences: EncodedTexts, labels: npt.NDArray[Any] | None, rows: npt.NDArray[np.int64]) -> Batch:
    targets = None if labels is None else torch.from_numpy(labels[rows])
    return Batch(task, sequences.pack(rows), targets, rows)


def length_batches(tokens: npt.NDArray[np.int64], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Rows in batches of similar length, each of at most `budget` tokens: for inference, in any order."""
    order = np.argsort(-tokens, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, int(budget // max(1, tokens[order[start]])))
        yield order[start : start + count]
        start += count
