"""Token sequences of any length, concatenated without padding: the encoder's input.

T tokens, S sequences, M masked tokens, L tokens in the longest sequence of a block, G slots of all blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Sequences share a block if the shortest has at least this fraction of the longest's tokens.
SIMILAR_LENGTH = 0.75


@dataclass(frozen=True)
class PackedBlock:
    """Sequences of similar length as a grid of S x L slots."""

    sequences: int
    length: int
    # where its slots are among those of all blocks
    slots: slice
    # true for padding; None: there is none
    padding_SL: Tensor | None


@dataclass(frozen=True)
class Grid:
    """Tokens in padded blocks, in which the tokens of one sequence can attend to those of another."""

    blocks: tuple[PackedBlock, ...]
    # the token in each slot (padding repeats the last token of its sequence), and the slot of each token;
    # None: the slots of all blocks are the packed tokens in their order
    tokens_G: Tensor | None
    slots_T: Tensor | None
    # the slots that are padding
    padding_P: Tensor | None

    @property
    def size(self) -> int:
        return int(self.blocks[-1].slots.stop)

    def pad(self, x_TW: Tensor) -> Tensor:
        """T x W -> G x W. The values in the padding are finite but meaningless."""
        return x_TW if self.tokens_G is None else x_TW.index_select(0, self.tokens_G)

    def pad_with_zeros(self, x_TW: Tensor) -> Tensor:
        x_GW = self.pad(x_TW)
        return x_GW if self.padding_P is None else x_GW.index_fill_(0, self.padding_P, 0)

    def unpad(self, x_GW: Tensor) -> Tensor:
        """G x W -> T x W."""
        return x_GW if self.slots_T is None else x_GW.index_select(0, self.slots_T)


@dataclass(frozen=True)
class Packed:
    """The encoder's input. Fields named *_T have one entry per token, so that `select` can take some of the tokens."""

    ids_T: Tensor
    segments_T: Tensor
    lengths_S: Tensor
    # the positions of the masked tokens, for a masked language model
    masked_M: Tensor | None = None
    # the part-of-speech tag of each token, if an adapter needs it
    tags_T: Tensor | None = None

    @cached_property
    def starts_S(self) -> Tensor:
        """The position of the first token of each sequence, [CLS]."""
        return self.lengths_S.cumsum(0) - self.lengths_S

    @cached_property
    def sequence_T(self) -> Tensor:
        """The number of the sequence of each token."""
        return torch.repeat_interleave(self.lengths_S)

    @cached_property
    def positions_T(self) -> Tensor:
        """The position of each token in its sequence."""
        places_T = torch.arange(len(self.ids_T), device=self.ids_T.device)
        return places_T - self.starts_S[self.sequence_T]

    @cached_property
    def grid(self) -> Grid:
        """All tokens, for attention within each sequence."""
        lengths = self.lengths
        return make_grid(lengths, np.cumsum(lengths) - lengths, list(similar_lengths(lengths)), self.ids_T.device)

    @cached_property
    def first_grid(self) -> Grid:
        """One slot per sequence, in the same blocks as `grid`."""
        ones = np.ones_like(self.lengths)
        return make_grid(ones, np.arange(len(ones)), list(similar_lengths(self.lengths)), self.ids_T.device)

    @cached_property
    def crossed(self) -> tuple[Grid, Grid]:
        """For pairs encoded separately (all first texts, then all second ones): the tokens of each text as queries, and
        those of the other text of its pair as keys."""
        lengths = self.lengths
        starts = np.cumsum(lengths) - lengths
        other = np.roll(np.arange(len(lengths)), len(lengths) // 2)
        orders = list(similar_lengths(np.maximum(lengths, lengths[other])))
        return (
            make_grid(lengths, starts, orders, self.ids_T.device),
            make_grid(lengths[other], starts[other], orders, self.ids_T.device),
        )

    @cached_property
    def firsts(self) -> "Packed":
        """The same sequences, reduced to their first tokens."""
        return self.select(self.starts_S, torch.ones_like(self.lengths_S))

    def sequences(self, chosen_S: Tensor) -> "Packed":
        """The sequences for which `chosen_S` is true."""
        return self.select(chosen_S[self.sequence_T], self.lengths_S[chosen_S])

    def select(self, places: Tensor, lengths_S: Tensor) -> "Packed":
        """Some of the tokens, as sequences of these lengths."""
        tokens = {name: value[places] for name, value in self.tensors().items() if name.endswith("_T")}
        masked_M = self.masked_M
        if masked_M is not None:
            # the new position of each token that is kept
            position_T = torch.full_like(self.ids_T, -1)
            position_T[places] = torch.arange(len(tokens["ids_T"]), device=position_T.device)
            masked_M = position_T[masked_M]
            masked_M = masked_M[masked_M >= 0]
        return replace(self, **tokens, lengths_S=lengths_S, masked_M=masked_M)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return self.lengths_S.cpu().numpy()

    def to(self, device: torch.device) -> "Packed":
        if self.ids_T.device == device:
            return self
        return replace(self, **{name: value.to(device) for name, value in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """All fields that are set."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def make_grid(
    lengths: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    orders: list[npt.NDArray[np.int64]],
    device: torch.device,
) -> Grid:
    """Sequences that start at `starts`; `orders`: the sequences of each block."""
    blocks: list[PackedBlock] = []
    tokens, paddings = [], []
    used = 0
    for order in orders:
        own = lengths[order]
        length = int(own.max())
        places = np.arange(length)
        padding_SL = places >= own[:, None]
        tokens.append((starts[order][:, None] + np.minimum(places, own[:, None] - 1)).ravel())
        paddings.append(padding_SL.ravel())
        slots = slice(used, used + padding_SL.size)
        padding = on_device(device, padding_SL) if padding_SL.any() else None
        blocks.append(PackedBlock(len(order), length, slots, padding))
        used = slots.stop
    tokens_G, padding_G = np.concatenate(tokens), np.concatenate(paddings)
    if used == lengths.sum() and np.array_equal(tokens_G, np.arange(used)):
        return Grid(tuple(blocks), None, None, None)
    slots_T = np.empty(lengths.sum(), np.int64)
    slots_T[tokens_G[~padding_G]] = np.flatnonzero(~padding_G)
    padding_P = on_device(device, np.flatnonzero(padding_G)) if padding_G.any() else None
    return Grid(tuple(blocks), on_device(device, tokens_G), on_device(device, slots_T), padding_P)


def on_device(device: torch.device, array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).to(device)


def similar_lengths(lengths: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """The sequences of each block, longest first; sequences of the same length keep their order."""
    order = np.argsort(-lengths, kind="stable")
    falling = -lengths[order]
    start = 0
    while start < len(order):
        end = int(np.searchsorted(falling, SIMILAR_LENGTH * falling[start], side="right"))
        yield order[start:end]
        start = end
