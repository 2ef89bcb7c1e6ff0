"""Examples -> Batch of packed tokens: sequences end to end, no padding.

T tokens in a batch, S sequences, B examples (S = B, or 2B where the two texts of a pair are read apart or in
both orders: first all first sequences, then all second ones).
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

# both: joined in one order, and in the other; twice: the first text, two times
Layout = Literal["cross_encoder", "bi_encoder", "both_orders", "simcse"]
# (the tokenizer, texts, how many of a text's pieces can be kept) -> a tag for each piece
TagTokens = Callable[[Tokenizer, Sequence[str], int], Tokens]


@dataclass(frozen=True)
class Batch:
    """Some examples of one task, ready for the model."""

    task: str
    packed: Packed
    labels_B: Tensor | None
    # which rows of the task's table they are
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
    """Every example of a table as token sequences, special tokens included."""

    parts: tuple[Tokens, ...]
    # how many tokens of each joined sequence belong to segment 0; nothing: all of them
    first_segments: tuple[npt.NDArray[np.int64], ...]
    # which examples were too long to be read to their ends
    truncated: npt.NDArray[np.bool_]
    # a tag for each token of the parts; nothing: nobody wants them
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
        return replace(self, parts=parts, first_segments=firsts, truncated=self.truncated[rows], tags=tags)

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
    text: Tokenizer,
    texts: tuple[list[str], ...],
    layout: Layout,
    max_length: int,
    tag: TagTokens | None = None,
    tokens: list[Tokens] | None = None,
) -> EncodedTexts:
    """Texts -> sequences: [CLS] a [SEP]; pairs as [CLS] a [SEP] b [SEP], in both orders, or apart.

    `tokens`: what the tokenizer gives for the texts, where that is known already.
    """
    columns = texts[:1] if layout == "simcse" else texts
    pieces = [text.encode(column, max_length) for column in columns] if tokens is None else tokens[: len(columns)]
    joined = len(pieces) == 2 and layout != "bi_encoder"
    if joined:
        keep = share_length(pieces[0].lengths, pieces[1].lengths, max_length - 3)
        # which texts make a sequence
        orders = [[0, 1]] if layout == "cross_encoder" else [[0, 1], [1, 0]]
    else:
        keep = [np.minimum(piece.lengths, max_length - 2) for piece in pieces]
        orders = [[column] for column in range(len(pieces))]

    def wrapped(rows: list[Tokens], first: int, end: int) -> tuple[Tokens, ...]:
        parts = tuple(wrap([rows[i] for i in order], [keep[i] for i in order], first, end) for order in orders)
        return parts * 2 if layout == "simcse" else parts

    # of a very long text only the first characters were tokenized
    cut = np.any([over_character_limit(column, max_length) for column in columns], axis=0)
    cut |= np.any([piece.lengths > kept for piece, kept in zip(pieces, keep, strict=True)], axis=0)
    firsts = tuple(keep[order[0]] + 2 for order in orders) if joined else ()
    tags = wrapped([tag(text, column, max_length) for column in columns], 0, 0) if tag else ()
    return EncodedTexts(wrapped(pieces, text.cls, text.sep), firsts, cut, tags)


def share_length(
    first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], budget: int
) -> list[npt.NDArray[np.int64]]:
    """How many pieces each text of a pair keeps: the longer one is cut first."""
    over = first + second > budget
    half = budget // 2
    shorter = np.minimum(np.minimum(first, second), half)
    kept_first = np.where(first <= second, shorter, budget - shorter)
    kept_second = np.where(first <= second, budget - shorter, shorter)
    return [np.where(over, kept_first, first), np.where(over, kept_second, second)]


def wrap(pieces: list[Tokens], keep: list[npt.NDArray[np.int64]], first: int, end: int) -> Tokens:
    """`first` ([CLS]), the kept pieces of each text and an `end` ([SEP]) after each, as one sequence a row."""
    lengths = 1 + sum(kept + 1 for kept in keep)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.full(offsets[-1], end, np.int32)  # what nothing else claims is an end
    flat[offsets[:-1]] = first
    start = offsets[:-1] + 1
    for piece, kept in zip(pieces, keep, strict=True):
        inside = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        flat[np.repeat(start, kept) + inside] = piece.flat[np.repeat(piece.offsets[:-1], kept) + inside]
        start = start + kept + 1
    return Tokens(flat, offsets)


def collate(task: str, sequences: EncodedTexts, labels: npt.NDArray[Any] | None, rows: npt.NDArray[np.int64]) -> Batch:
    targets = None if labels is None else torch.from_numpy(labels[rows])
    return Batch(task, sequences.pack(rows), targets, rows)


def length_batches(tokens: npt.NDArray[np.int64], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Rows in batches of similar length, each of at most `budget` tokens: for answering, where order is free."""
    order = np.argsort(-tokens, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, int(budget // max(1, tokens[order[start]])))
        yield order[start : start + count]
        start += count
