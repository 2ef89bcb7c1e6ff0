"""queries, keys and values of packed tokens -> the output of attention within each sequence.

T tokens, S sequences of a block, Q queries and L keys of its longest, H heads, K width of a head, D = H x K,
R = S x H rows of a batched product, W = 3 D (queries, keys, values side by side) or 2 D (keys, values), G slots.

Plain batched matrix products with a hand-written backward pass. For sentences this is several times faster on a CPU
than flash attention, which is made for long texts, and than autograd, which copies every operand twice. On other
devices it uses torch's kernels.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from minbert.data.packed import Grid, PackedBlock
from minbert.encoder.dropout import DropoutGenerator


def attend(
    q_TD: Tensor | None,
    kv_TW: Tensor,
    queries: Grid,
    keys: Grid,
    heads: int,
    dropout: float,
    generator: DropoutGenerator,
) -> Tensor:
    """softmax(q k' / sqrt(K)) v, with dropout on the weights: one row per query.

    The queries of each block of one grid attend to the keys of the same block of the other. Without q_TD, kv_TW holds
    the queries too, before the keys and values, and both grids are the same.
    """
    if kv_TW.device.type != "cpu":
        return attend_with_torch(q_TD, kv_TW, queries, keys, heads, dropout)
    return Attend.apply(q_TD, kv_TW, (queries, keys), heads, dropout, generator)  # type: ignore[no-any-return, no-untyped-call]


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        q_TD: Tensor | None,
        kv_TW: Tensor,
        grids: tuple[Grid, Grid],
        heads: int,
        dropout: float,
        generator: DropoutGenerator,
    ) -> Tensor:
        queries, keys = grids
        output_GD = kv_TW.new_empty(queries.size, kv_TW.shape[1] // (3 if q_TD is None else 2))
        saved: list[Tensor | None] = []
        for here, there, (q_RQK, k_RLK, v_RLK) in operands(q_TD, kv_TW, queries, keys, heads):
            weights_RQL = attention_scores(q_RQK, k_RLK, there, heads).softmax(-1)
            keep_RQL = generator.mask(weights_RQL, dropout) if dropout else None
            dropped_RQL = weights_RQL if keep_RQL is None else weights_RQL * keep_RQL
            by_token(output_GD, here, heads, 1)[:, :, 0].copy_(split_heads(torch.bmm(dropped_RQL, v_RLK), heads))
            saved += [q_RQK, k_RLK, v_RLK, weights_RQL, keep_RQL]
        ctx.save_for_backward(*saved)
        ctx.queries, ctx.keys, ctx.heads, ctx.fused = queries, keys, heads, q_TD is None
        return queries.unpad(output_GD)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TD: Tensor) -> tuple[Tensor | None, Tensor, None, None, None, None]:
        queries, keys, heads, saved = ctx.queries, ctx.keys, ctx.heads, ctx.saved_tensors
        D = grad_TD.shape[1]
        # the query of a padding slot must not contribute to the gradients of keys and values
        grad_GD = queries.pad_with_zeros(grad_TD.contiguous())
        d_q_GD = None if ctx.fused else torch.empty_like(grad_GD)
        d_kv_GW = grad_TD.new_empty(keys.size, D * (3 if ctx.fused else 2))
        for number, (here, there) in enumerate(zip(queries.blocks, keys.blocks, strict=True)):
            q_RQK, k_RLK, v_RLK, weights_RQL, keep_RQL = saved[5 * number : 5 * number + 5]
            (grad_RQK,) = by_head(grad_GD, here, heads, 1)
            d_weights_RQL = torch.bmm(grad_RQK, v_RLK.transpose(1, 2))
            dropped_RQL = weights_RQL
            if keep_RQL is not None:
                d_weights_RQL.mul_(keep_RQL)
                dropped_RQL = weights_RQL * keep_RQL
            d_scores_RQL = torch._softmax_backward_data(d_weights_RQL, weights_RQL, -1, weights_RQL.dtype)
            d_scores_RQL.mul_(q_RQK.shape[-1] ** -0.5)
            d_q_SQHK = split_heads(torch.bmm(d_scores_RQL, k_RLK), heads)
            into = by_token(d_kv_GW, there, heads, 3 if ctx.fused else 2)
            if d_q_GD is None:
                into[:, :, 0].copy_(d_q_SQHK)
            else:
                by_token(d_q_GD, here, heads, 1)[:, :, 0].copy_(d_q_SQHK)
            into[:, :, -2].copy_(split_heads(torch.bmm(d_scores_RQL.transpose(1, 2), q_RQK), heads))
            into[:, :, -1].copy_(split_heads(torch.bmm(dropped_RQL.transpose(1, 2), grad_RQK), heads))
        d_q_TD = None if d_q_GD is None else queries.unpad(d_q_GD)
        return d_q_TD, keys.unpad(d_kv_GW), None, None, None, None


def operands(
    q_TD: Tensor | None, kv_TW: Tensor, queries: Grid, keys: Grid, heads: int
) -> Iterator[tuple[PackedBlock, PackedBlock, tuple[Tensor, ...]]]:
    """For each pair of blocks: queries R x Q x K, keys and values R x L x K."""
    kv_GW = keys.pad(kv_TW)
    q_GD = None if q_TD is None else queries.pad(q_TD)
    for here, there in zip(queries.blocks, keys.blocks, strict=True):
        if q_GD is None:
            yield here, there, by_head(kv_GW, there, heads, 3)
        else:
            yield here, there, by_head(q_GD, here, heads, 1) + by_head(kv_GW, there, heads, 2)


def attention_scores(q_RQK: Tensor, k_RLK: Tensor, there: PackedBlock, heads: int) -> Tensor:
    """q k' / sqrt(K), minus infinity for padding."""
    scale = q_RQK.shape[-1] ** -0.5
    if there.padding_SL is None:
        return torch.bmm(q_RQK, k_RLK.transpose(1, 2)).mul_(scale)
    bias_SL = q_RQK.new_zeros(there.padding_SL.shape).masked_fill_(there.padding_SL, float("-inf"))
    bias_R1L = bias_SL.repeat_interleave(heads, 0)[:, None]
    return torch.baddbmm(bias_R1L, q_RQK, k_RLK.transpose(1, 2), alpha=scale)


def by_head(x_GW: Tensor, block: PackedBlock, heads: int, parts: int) -> tuple[Tensor, ...]:
    """The rows of a block, `parts` tensors side by side -> each of them R x L x K, with a single copy."""
    S, L = block.sequences, block.length
    x_PSHLK = by_token(x_GW, block, heads, parts).permute(2, 0, 3, 1, 4)
    return x_PSHLK.reshape(parts, S * heads, L, -1).unbind()


def by_token(x_GW: Tensor, block: PackedBlock, heads: int, parts: int) -> Tensor:
    """The rows of a block, `parts` tensors side by side -> S x L x parts x H x K, a view."""
    return x_GW[block.slots].view(block.sequences, block.length, parts, heads, -1)


def split_heads(x_RQK: Tensor, heads: int) -> Tensor:
    """R x Q x K -> S x Q x H x K, a view."""
    R, Q, K = x_RQK.shape
    return x_RQK.view(R // heads, heads, Q, K).transpose(1, 2)


def attend_with_torch(
    q_TD: Tensor | None, kv_TW: Tensor, queries: Grid, keys: Grid, heads: int, dropout: float
) -> Tensor:
    """The same with torch's scaled_dot_product_attention, which has kernels for GPUs."""
    outputs = []
    for here, there, parts in operands(q_TD, kv_TW, queries, keys, heads):
        q_SHQK, k_SHLK, v_SHLK = (part.view(here.sequences, heads, *part.shape[1:]) for part in parts)
        mask = None if there.padding_SL is None else ~there.padding_SL[:, None, None, :]
        output_SHQK = functional.scaled_dot_product_attention(q_SHQK, k_SHLK, v_SHLK, mask, dropout)
        outputs.append(output_SHQK.transpose(1, 2).flatten(2).flatten(0, 1))
    return queries.unpad(torch.cat(outputs))
