"""What the machine can do, and how much work an encoder is."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Reads
from minbert.encoder.device import best_dtype, matrix_rate, matrix_work
from tests.tiny import tiny_shape


@pytest.mark.parametrize("reads", ["all", "first"])
def test_the_work_is_what_torch_counts(reads: Reads) -> None:
    """On sequences of one length, where the grids have no holes that torch would count too."""
    shape = tiny_shape()
    packed = Packed(torch.arange(40) % 9, torch.zeros(40, dtype=torch.int64), torch.full((5,), 8))
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        Bert(shape).eval()(packed, reads)
    assert matrix_work(shape, packed, reads) == counter.get_total_flops()


def test_auto_is_bf16_only_where_the_machine_has_units_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    assert best_dtype("fp32", cpu) == torch.float32
    assert best_dtype("bf16", cpu) == torch.bfloat16
    for able, expected in [({"avx2": True}, torch.float32), ({"amx_bf16": True}, torch.bfloat16)]:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        assert best_dtype("auto", cpu) == expected


def test_the_rate_is_that_of_a_computer() -> None:
    rate = matrix_rate(384, 1536, torch.float32, torch.device("cpu"))
    assert 1e8 < rate < 1e15
