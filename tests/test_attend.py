"""Attention of packed tokens against the textbook, one sequence at a time; and blocks of similar length."""

import numpy as np
import pytest
import torch
from torch import Tensor

from minbert.data.packed import SIMILAR, Grid, Packed, lay_blocks, similar
from minbert.encoder.attention import attend, attend_by_torch
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
        return attend_by_torch(q_TD, kv_TW, queries, keys, H, dropout)
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
    orders = list(similar(np.maximum(asking, answering)))
    queries, keys = (
        lay_blocks(np.array(side), np.cumsum(side) - side, orders, torch.device("cpu")) for side in (asking, answering)
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
    assert torch.equal(grid.collect(grid.lay(x_T1)), x_T1)
    orders = list(similar(np.array(lengths)))
    assert sorted(np.concatenate(orders)) == list(range(len(lengths)))
    for block, order in zip(grid.blocks, orders, strict=True):
        own = [lengths[number] for number in order]
        assert (block.sequences, block.length) == (len(own), max(own))
        assert min(own) >= SIMILAR * max(own)
        assert (block.holes_SL is None) == (min(own) == max(own))
    clean_G = grid.lay_clean(torch.ones(sum(lengths), 1)).sum()
    assert int(clean_G) == sum(lengths), "zeros in the holes, and only there"


def test_sequences_of_one_length_are_not_copied() -> None:
    grid = packed_of([6, 6, 6, 6]).grid
    x_TW = random(24, 3 * D)
    assert grid.lay(x_TW) is x_TW
    assert grid.collect(x_TW) is x_TW


def test_firsts_are_the_first_tokens() -> None:
    packed = packed_of([3, 2, 1])
    assert packed.firsts.ids_T.tolist() == [0, 3, 5]
    assert packed.firsts.starts_S.tolist() == [0, 1, 2]
