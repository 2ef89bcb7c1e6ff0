"""Attention of packed tokens against the textbook, one sequence at a time; and blocks of similar length."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import Tensor

from minbert.data.packed import SIMILAR_LENGTH, Grid, Packed, make_grid, similar_lengths
from minbert.encoder.attention import attend, attend_with_torch
from minbert.encoder.dropout import DropoutGenerator

H, K = 3, 4
D = H * K
# alone, in pairs, of very different length, and out of order
LENGTHS = [[5], [3, 3, 3], [1, 30, 2, 29, 7, 7, 15], [4, 3, 2, 1], [2, 2, 9]]


def packed_of(lengths: list[int]) -> Packed:
    ids_T = torch.arange(sum(lengths))
    return Packed(ids_T, torch.zeros_like(ids_T), torch.tensor(lengths))


def meet(
    q_TD: Tensor | None, kv_TW: Tensor, queries: Grid, keys: Grid, by_torch: bool = False, dropout: float = 0.0
) -> Tensor:
    if by_torch:
        return attend_with_torch(q_TD, kv_TW, queries, keys, H, dropout)
    return attend(q_TD, kv_TW, queries, keys, H, dropout, DropoutGenerator(3))


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


def textbook(q_QD: Tensor, k_LD: Tensor, v_LD: Tensor) -> Tensor:
    """One sequence: softmax(q k' / sqrt(K)) v for each head."""
    heads = [
        torch.softmax(q_QD[:, part] @ k_LD[:, part].T / K**0.5, -1) @ v_LD[:, part]
        for part in (slice(K * head, K * head + K) for head in range(H))
    ]
    return torch.cat(heads, 1)


def same(found_XD: Tensor, expected_XD: Tensor, *inputs: Tensor) -> None:
    """Equal, and equal in their gradients."""
    torch.testing.assert_close(found_XD, expected_XD)
    away_XD = random(*found_XD.shape, seed=1)
    ours, theirs = (torch.autograd.grad(x_XD, inputs, away_XD) for x_XD in (found_XD, expected_XD))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("by_torch", [False, True], ids=["ours", "torch's kernels"])
def test_every_token_attends_to_its_own_sequence(lengths: list[int], by_torch: bool) -> None:
    qkv_TW, grid = random(sum(lengths), 3 * D), packed_of(lengths).grid
    expected_TD = torch.cat([textbook(*part.split(D, 1)) for part in qkv_TW.split(lengths)])
    same(meet(None, qkv_TW, grid, grid, by_torch), expected_TD, qkv_TW)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("by_torch", [False, True], ids=["ours", "torch's kernels"])
def test_one_query_a_sequence(lengths: list[int], by_torch: bool) -> None:
    q_SD, kv_TW, packed = random(len(lengths), D, seed=2), random(sum(lengths), 2 * D), packed_of(lengths)
    parts = zip(q_SD.split(1), kv_TW.split(lengths), strict=True)
    expected_SD = torch.cat([textbook(q_1D, *part.split(D, 1)) for q_1D, part in parts])
    same(meet(q_SD, kv_TW, packed.first_grid, packed.grid, by_torch), expected_SD, q_SD, kv_TW)


@pytest.mark.parametrize("by_torch", [False, True], ids=["ours", "torch's kernels"])
def test_one_text_attends_to_another(by_torch: bool) -> None:
    asking, answering = [2, 7, 3, 3], [9, 1, 4, 2]
    orders = list(similar_lengths(np.maximum(asking, answering)))
    queries, keys = (
        make_grid(np.array(side), np.cumsum(side) - side, orders, torch.device("cpu")) for side in (asking, answering)
    )
    q_TD, kv_TW = random(sum(asking), D, seed=2), random(sum(answering), 2 * D)
    parts = zip(q_TD.split(asking), kv_TW.split(answering), strict=True)
    expected_TD = torch.cat([textbook(q_QD, *part.split(D, 1)) for q_QD, part in parts])
    same(meet(q_TD, kv_TW, queries, keys, by_torch), expected_TD, q_TD, kv_TW)


@pytest.mark.parametrize("fused", [True, False])
def test_the_gradient_with_dropout_is_that_of_the_function(fused: bool) -> None:
    """Against differences: the same seed drops the same weights, so the function is smooth."""
    lengths = [2, 5, 4]
    packed = packed_of(lengths)
    inputs = (random(11, 3 * D),) if fused else (random(3, D, seed=2), random(11, 2 * D))
    queries = packed.grid if fused else packed.first_grid

    def met(*given: Tensor, dropout: float = 0.4) -> Tensor:
        return meet(None if fused else given[0], given[-1], queries, packed.grid, dropout=dropout)

    assert not torch.allclose(met(*inputs), met(*inputs, dropout=0.0))
    assert torch.autograd.gradcheck(met, inputs)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_blocks_hold_every_token_once(lengths: list[int]) -> None:
    grid = packed_of(lengths).grid
    x_T1 = torch.arange(sum(lengths)).double()[:, None]
    assert torch.equal(grid.unpad(grid.pad(x_T1)), x_T1)
    orders = list(similar_lengths(np.array(lengths)))
    assert sorted(np.concatenate(orders)) == list(range(len(lengths)))
    for block, order in zip(grid.blocks, orders, strict=True):
        own = [lengths[number] for number in order]
        assert (block.sequences, block.length) == (len(own), max(own))
        assert min(own) >= SIMILAR_LENGTH * max(own)
        assert (block.padding_SL is None) == (min(own) == max(own))
    clean_G = grid.pad_with_zeros(torch.ones(sum(lengths), 1)).sum()
    assert int(clean_G) == sum(lengths), "zeros in the padding, and only there"


def test_sequences_of_one_length_are_not_copied() -> None:
    grid = packed_of([6, 6, 6, 6]).grid
    x_TW = random(24, 3 * D)
    assert grid.pad(x_TW) is x_TW
    assert grid.unpad(x_TW) is x_TW


def test_firsts_are_the_first_tokens() -> None:
    packed = packed_of([3, 2, 1])
    assert packed.firsts.ids_T.tolist() == [0, 3, 5]
    assert packed.firsts.starts_S.tolist() == [0, 1, 2]


def full_packed() -> Packed:
    """Two pairs of sequences, of 3, 2, 1 and 4 tokens, with every field set."""
    lengths = torch.tensor([3, 2, 1, 4])
    tokens = torch.arange(10)
    packed = Packed(tokens + 100, tokens % 2, lengths, masked_M=torch.tensor([1, 4, 8]), tags_T=tokens + 20)
    assert set(packed.tensors()) == {field.name for field in fields(Packed)}, "a new field: set it here too"
    return packed


def test_moving_to_a_device_keeps_every_field() -> None:
    packed = full_packed()
    assert packed.to(torch.device("cpu")) is packed
    moved = packed.to(torch.device("meta"))
    assert {name: (value.device.type, value.shape) for name, value in moved.tensors().items()} == {
        name: ("meta", value.shape) for name, value in packed.tensors().items()
    }


def test_selected_tokens_keep_every_field() -> None:
    first, second = (full_packed().sequences(torch.arange(4) // 2 == half) for half in (0, 1))
    assert {name: value.tolist() for name, value in first.tensors().items()} == {
        "ids_T": [100, 101, 102, 103, 104],
        "segments_T": [0, 1, 0, 1, 0],
        "lengths_S": [3, 2],
        "masked_M": [1, 4],
        "tags_T": [20, 21, 22, 23, 24],
    }
    assert {name: value.tolist() for name, value in second.tensors().items()} == {
        "ids_T": [105, 106, 107, 108, 109],
        "segments_T": [1, 0, 1, 0, 1],
        "lengths_S": [1, 4],
        # token 8 of all is token 3 here
        "masked_M": [3],
        "tags_T": [25, 26, 27, 28, 29],
    }
    # no first token is masked
    assert full_packed().firsts.masked_M is not None and len(full_packed().firsts.tensors()["masked_M"]) == 0
    assert full_packed().firsts.tensors()["tags_T"].tolist() == [20, 23, 25, 26]


def test_fields_that_are_not_set_stay_so() -> None:
    first = packed_of([2, 2]).sequences(torch.tensor([True, False]))
    assert first.masked_M is None and first.tags_T is None
    assert packed_of([2, 2]).to(torch.device("meta")).tags_T is None
