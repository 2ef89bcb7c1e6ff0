"""The fastest device of this machine, and how many floating-point operations per second it reaches.

T tokens, D width, F inner width.
"""

import time
from functools import lru_cache

import torch

from minbert.config.recipe import Precision
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, BertConfig, Reads
from minbert.encoder.precision import best_dtype

# a batch of a few dozen sentences
TOKENS = 1024
MEASURE_SECONDS = 0.05


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def to_device(bert: Bert, precision: Precision, *, inference: bool = False) -> None:
    """Move to the fastest device and compute in this precision; for inference, convert the weights to it too."""
    device = best_device()
    bert.dtype = best_dtype(precision, device)
    bert.dropout_generator.to(device)
    bert.to(device, bert.dtype if inference else None)


def forward_flops(config: BertConfig, packed: Packed, reads: Reads = "all") -> float:
    """Floating-point operations of all matrix products in a forward pass. A training step takes three times as many."""
    D, F = config.hidden_size, config.intermediate_size
    tokens = float(len(packed.ids_T))
    token_pairs = float((packed.lengths_S**2).sum())
    layer = 2 * tokens * (4 * D * D + 2 * D * F) + 4 * token_pairs * D
    if reads == "all":
        return config.num_hidden_layers * layer
    sequences = float(len(packed.lengths_S))
    last = 4 * tokens * D * D + 2 * sequences * (2 * D * D + 2 * D * F) + 4 * tokens * D
    return (config.num_hidden_layers - 1) * layer + last


@lru_cache
def matmul_flops_per_second(width: int, inner: int, dtype: torch.dtype, device: torch.device) -> float:
    """Floating-point operations per second that this machine reaches in the largest matrix product of a layer."""
    x_TD = torch.ones(TOKENS, width, dtype=dtype, device=device)
    weight_DF = torch.ones(width, inner, dtype=dtype, device=device)
    best, spent = float("inf"), 0.0
    while spent < MEASURE_SECONDS:
        began = time.perf_counter()
        # .item() waits for asynchronous devices
        (x_TD @ weight_DF)[0, 0].item()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
    return 2 * TOKENS * width * inner / best
