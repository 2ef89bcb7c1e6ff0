"""Token sequences of any length end to end, without padding: what the encoder reads.

T tokens, S sequences, L tokens in the longest of a block, G slots of all blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Sequences share a block if the shortest has at least this share of the longest's tokens: few blocks, few holes.
SIMILAR = 0.75


@dataclass(frozen=True)
class PackedBlock:
    """Sequences of similar length as a grid of S x L slots."""

    sequences: int
    length: int
    # which slots of all blocks are these
    slots: slice
    # true where a slot has no token of its own; None: nowhere
    holes_SL: Tensor | None


@dataclass(frozen=True)
class Grid:
    """Tokens laid out in blocks, where those of one sequence can meet those of another."""

    blocks: tuple[PackedBlock, ...]
    # the token in each slot (a hole repeats the last token of its sequence), and the slot of each token;
    # None: the blocks, one behind the other, are the packed tokens as they are
    tokens_G: Tensor | None
    slots_T: Tensor | None
    holes_G: Tensor | None

    @property
    def size(self) -> int:
        return int(self.blocks[-1].slots.stop)

    def lay(self, x_TW: Tensor) -> Tensor:
        """T x W -> G x W. What lies in the holes is finite and means nothing."""
        return x_TW if self.tokens_G is None else x_TW.index_select(0, self.tokens_G)

    def lay_clean(self, x_TW: Tensor) -> Tensor:
        """The same with zeros in the holes."""
        x_GW = self.lay(x_TW)
        return x_GW if self.holes_G is None else x_GW.index_fill_(0, self.holes_G, 0)

    def collect(self, x_GW: Tensor) -> Tensor:
        """G x W -> T x W."""
        return x_GW if self.slots_T is None else x_GW.index_select(0, self.slots_T)


@dataclass(frozen=True)
class Packed:
    """What the encoder reads."""

    ids_T: Tensor
    segments_T: Tensor
    lengths_S: Tensor
    # the tokens that a head asks for, where one does
    masked_M: Tensor | None = None
    # the part of speech of each token, where an adapter wants it
    tags_T: Tensor | None = None

    @cached_property
    def starts_S(self) -> Tensor:
        """Where each sequence begins: the place of its [CLS]."""
        return self.lengths_S.cumsum(0) - self.lengths_S

    @cached_property
    def sequence_T(self) -> Tensor:
        """Which sequence each token belongs to."""
        return torch.repeat_interleave(self.lengths_S)

    @cached_property
    def positions_T(self) -> Tensor:
        places_T = torch.arange(len(self.ids_T), device=self.ids_T.device)
        return places_T - self.starts_S[self.sequence_T]

    @cached_property
    def grid(self) -> Grid:
        """Every token among those of its own sequence."""
        lengths = self.lengths
        return lay_blocks(lengths, np.cumsum(lengths) - lengths, list(similar(lengths)), self.ids_T.device)

    @cached_property
    def first_grid(self) -> Grid:
        """One row a sequence, in blocks as those of `grid`."""
        ones = np.ones_like(self.lengths)
        return lay_blocks(ones, np.arange(len(ones)), list(similar(self.lengths)), self.ids_T.device)

    @cached_property
    def crossed(self) -> tuple[Grid, Grid]:
        """Pairs read apart, first all first texts, then all second ones: each text's tokens (as queries) meet those
        of the other text of its pair (as keys)."""
        lengths = self.lengths
        starts = np.cumsum(lengths) - lengths
        other = np.roll(np.arange(len(lengths)), len(lengths) // 2)
        orders = list(similar(np.maximum(lengths, lengths[other])))
        return (
            lay_blocks(lengths, starts, orders, self.ids_T.device),
            lay_blocks(lengths[other], starts[other], orders, self.ids_T.device),
        )

    @cached_property
    def firsts(self) -> "Packed":
        """The same sequences, of which only the first token is left."""
        return self.at(self.starts_S, torch.ones_like(self.lengths_S))

    def halves(self) -> tuple["Packed", "Packed"]:
        """The first half of the sequences, and the second."""
        S = len(self.lengths_S) // 2
        T = int(self.lengths_S[:S].sum())
        return self.at(slice(T), self.lengths_S[:S]), self.at(slice(T, None), self.lengths_S[S:])

    def at(self, places: Tensor | slice, lengths_S: Tensor) -> "Packed":
        """Some of the tokens, as sequences of these lengths."""
        tags_T = None if self.tags_T is None else self.tags_T[places]
        return Packed(self.ids_T[places], self.segments_T[places], lengths_S, tags_T=tags_T)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return self.lengths_S.cpu().numpy()

    def to(self, device: torch.device) -> "Packed":
        if self.ids_T.device == device:
            return self
        tags_T = None if self.tags_T is None else self.tags_T.to(device)
        return Packed(self.ids_T.to(device), self.segments_T.to(device), self.lengths_S.to(device), tags_T=tags_T)


def pack_padded(ids_SL: Tensor, mask_SL: Tensor, segments_SL: Tensor | None = None) -> Packed:
    """The padded form that other libraries use -> packed."""
    keep = mask_SL.bool()
    segments_SL = torch.zeros_like(ids_SL) if segments_SL is None else segments_SL
    return Packed(ids_SL[keep], segments_SL[keep], keep.sum(1))


def lay_blocks(
    lengths: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    orders: list[npt.NDArray[np.int64]],
    device: torch.device,
) -> Grid:
    """Sequences that begin at `starts`, in blocks of those named in `orders`."""
    blocks: list[PackedBlock] = []
    tokens, holes = [], []
    used = 0
    for order in orders:
        own = lengths[order]
        length = int(own.max())
        places = np.arange(length)
        holes_SL = places >= own[:, None]
        tokens.append((starts[order][:, None] + np.minimum(places, own[:, None] - 1)).ravel())
        holes.append(holes_SL.ravel())
        slots = slice(used, used + holes_SL.size)
        blocks.append(PackedBlock(len(order), length, slots, on(device, holes_SL) if holes_SL.any() else None))
        used = slots.stop
    tokens_G, holes_G = np.concatenate(tokens), np.concatenate(holes)
    if used == lengths.sum() and np.array_equal(tokens_G, np.arange(used)):
        return Grid(tuple(blocks), None, None, None)
    slots_T = np.empty(lengths.sum(), np.int64)
    slots_T[tokens_G[~holes_G]] = np.flatnonzero(~holes_G)
    hollow = on(device, np.flatnonzero(holes_G)) if holes_G.any() else None
    return Grid(tuple(blocks), on(device, tokens_G), on(device, slots_T), hollow)


def on(device: torch.device, array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).to(device)


def similar(lengths: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """The sequences of each block, the longest first; sequences of one length keep their order."""
    order = np.argsort(-lengths, kind="stable")
    falling = -lengths[order]
    start = 0
    while start < len(order):
        end = int(np.searchsorted(falling, SIMILAR * falling[start], side="right"))
        yield order[start:end]
        start = end
