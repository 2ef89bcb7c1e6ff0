"""Examples -> Batch of packed tokens: sequences end to end, no padding.

T tokens in a batch, S sequences, B examples (S = B, or 2B where the two texts of a pair are read apart or in
both orders: first all first sequences, then all second ones).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from minbert.packed import Packed
from minbert.text import Ragged, Text

# both: joined in one order, and in the other; twice: the first text, two times
Layout = Literal["joined", "apart", "both", "twice"]


@dataclass(frozen=True)
class Batch:
    """Some examples of one task, ready for the model."""

    task: str
    packed: Packed
    labels_B: Tensor | None
    examples: int

    @property
    def tokens(self) -> int:
        return len(self.packed.ids_T)

    def to(self, device: torch.device) -> "Batch":
        labels = None if self.labels_B is None else self.labels_B.to(device)
        return replace(self, packed=self.packed.to(device), labels_B=labels)


@dataclass(frozen=True)
class Sequences:
    """Every example of a table as token sequences, special tokens included."""

    parts: tuple[Ragged, ...]
    # how many tokens of each joined sequence belong to segment 0; nothing: all of them
    first_segments: tuple[npt.NDArray[np.int64], ...]
    # how many examples lost tokens to the length limit
    truncated: int

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """Tokens of each example, over all its sequences."""
        return sum((part.lengths for part in self.parts[1:]), start=self.parts[0].lengths)

    def take(self, rows: npt.NDArray[np.int64]) -> "Sequences":
        """Some of the examples, in the given order."""
        firsts = tuple(first[rows] for first in self.first_segments)
        return replace(self, parts=tuple(part.take(rows) for part in self.parts), first_segments=firsts)

    def pack(self, rows: npt.NDArray[np.int64]) -> Packed:
        taken = [part.take(rows) for part in self.parts]
        ids = np.concatenate([part.flat for part in taken]).astype(np.int64)
        lengths = np.concatenate([part.lengths for part in taken])
        segments = np.zeros(len(ids), np.int64)
        if self.first_segments:
            place = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            firsts = np.concatenate([first[rows] for first in self.first_segments])
            segments = (place >= np.repeat(firsts, lengths)).astype(np.int64)
        return Packed(torch.from_numpy(ids), torch.from_numpy(segments), torch.from_numpy(lengths))


def lay_out(text: Text, texts: tuple[list[str], ...], layout: Layout, max_length: int) -> Sequences:
    """Texts -> sequences: [CLS] a [SEP]; pairs as [CLS] a [SEP] b [SEP], in both orders, or apart."""
    pieces = [text.encode(column, max_length) for column in (texts[:1] if layout == "twice" else texts)]
    if len(pieces) == 2 and layout != "apart":
        keep = share_length(pieces[0].lengths, pieces[1].lengths, max_length - 3)
        cut = sum(piece.lengths - kept for piece, kept in zip(pieces, keep, strict=True)) > 0
        orders = [slice(None)] if layout == "joined" else [slice(None), slice(None, None, -1)]
        joined = tuple(wrap(pieces[order], keep[order], text) for order in orders)
        firsts = tuple(keep[order][0] + 2 for order in orders)
        return Sequences(joined, firsts, int(np.count_nonzero(cut)))
    parts = []
    cut = np.zeros(len(pieces[0]), bool)
    for piece in pieces:
        kept = np.minimum(piece.lengths, max_length - 2)
        parts.append(wrap([piece], [kept], text))
        cut |= piece.lengths > kept
    if layout == "twice":
        parts *= 2
    return Sequences(tuple(parts), (), int(np.count_nonzero(cut)))


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


def wrap(pieces: list[Ragged], keep: list[npt.NDArray[np.int64]], text: Text) -> Ragged:
    """[CLS], the kept pieces of each text and a [SEP] after each, as one sequence a row."""
    lengths = 1 + sum(kept + 1 for kept in keep)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.full(offsets[-1], text.sep, np.int32)  # what nothing else claims is a [SEP]
    flat[offsets[:-1]] = text.cls
    start = offsets[:-1] + 1
    for piece, kept in zip(pieces, keep, strict=True):
        inside = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)
        flat[np.repeat(start, kept) + inside] = piece.flat[np.repeat(piece.offsets[:-1], kept) + inside]
        start = start + kept + 1
    return Ragged(flat, offsets)


def make_batch(task: str, sequences: Sequences, labels: npt.NDArray[Any] | None, rows: npt.NDArray[np.int64]) -> Batch:
    targets = None if labels is None else torch.from_numpy(labels[rows])
    return Batch(task, sequences.pack(rows), targets, len(rows))


def by_length(tokens: npt.NDArray[np.int64], budget: int) -> Iterator[npt.NDArray[np.int64]]:
    """Rows in batches of similar length, each of at most `budget` tokens: for answering, where order is free."""
    order = np.argsort(-tokens, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, int(budget // max(1, tokens[order[start]])))
        yield order[start : start + count]
        start += count
