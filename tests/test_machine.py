"""What the machine can do, and how much work an encoder is."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, Reads
from minbert.encoder.device import forward_flops, matmul_flops_per_second
from minbert.encoder.precision import best_dtype, bf16_speed, machine_key, try_bf16
from minbert.errors import UserError
from tests.tiny import tiny_config


@pytest.mark.parametrize("reads", ["all", "first"])
def test_the_work_is_what_torch_counts(reads: Reads) -> None:
    """On sequences of one length, where the grids have no holes that torch would count too."""
    config = tiny_config()
    packed = Packed(torch.arange(40) % 9, torch.zeros(40, dtype=torch.int64), torch.full((5,), 8))
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        Bert(config).eval()(packed, reads)
    assert forward_flops(config, packed, reads) == counter.get_total_flops()


CPU = torch.device("cpu")
Pretend = Callable[[dict[str, bool], float], None]


@pytest.fixture
def other_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Pretend]:
    """Lets torch report these units, and the cache say how fast bf16 is there."""

    def pretend(units: dict[str, bool], speed: float) -> None:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: units, raising=False)
        monkeypatch.delenv("MINBERT_PRECISION", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        (tmp_path / "minbert").mkdir(exist_ok=True)
        (tmp_path / "minbert" / f"bf16-{machine_key()}.json").write_text(json.dumps({"speed": speed}))
        bf16_speed.cache_clear()

    yield pretend
    bf16_speed.cache_clear()


@pytest.mark.parametrize(
    ("units", "speed", "expected"),
    [
        ({"avx2": True}, 9.0, torch.float32),
        ({"amx_bf16": True}, 4.0, torch.bfloat16),
        ({"avx512_bf16": True}, 0.6, torch.float32),
        ({"amx_bf16": True}, 0.0, torch.float32),
    ],
)
def test_auto_is_bf16_only_where_its_units_work_and_are_faster(
    other_machine: Pretend,
    units: dict[str, bool],
    speed: float,
    expected: torch.dtype,
) -> None:
    other_machine(units, speed)
    assert best_dtype("auto", CPU) == expected
    assert best_dtype("fp32", CPU) == torch.float32


def test_bf16_is_refused_where_it_would_end_the_process(
    other_machine: Pretend,
) -> None:
    other_machine({"amx_bf16": True}, 0.0)
    with pytest.raises(UserError, match="do not work"):
        best_dtype("bf16", CPU)
    other_machine({"amx_bf16": True}, 4.0)
    assert best_dtype("bf16", CPU) == torch.bfloat16


def test_a_product_that_ends_its_process_has_no_speed() -> None:
    assert try_bf16("import os; os.abort()") == 0.0
    assert try_bf16("print(2.5)") == 2.5


@pytest.mark.parametrize(("wanted", "expected"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_the_environment_may_say_what_auto_is(
    other_machine: Pretend, monkeypatch: pytest.MonkeyPatch, wanted: str, expected: torch.dtype
) -> None:
    other_machine({"amx_bf16": True}, 4.0 if wanted == "fp32" else 1.0)
    monkeypatch.setenv("MINBERT_PRECISION", wanted)
    assert best_dtype("auto", CPU) == expected
    assert best_dtype("fp32", CPU) == torch.float32
    monkeypatch.setenv("MINBERT_PRECISION", "half")
    with pytest.raises(UserError, match="MINBERT_PRECISION is 'half'"):
        best_dtype("auto", CPU)


# variables that decide what auto chooses
HERE = ("ONEDNN_MAX_CPU_ISA", "MINBERT_PRECISION")


def test_what_auto_chooses_here_works_here() -> None:
    """In a process of its own: some virtual machines list units whose use ends the process."""
    code = (
        "import torch; from minbert.encoder.precision import best_dtype\n"
        "x = torch.ones(512, 384, dtype=best_dtype('auto', torch.device('cpu')))\n"
        "print((x @ x.T)[0, 0].item())"
    )
    environment = {name: value for name, value in os.environ.items() if name not in HERE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "384.0")


def test_the_rate_is_that_of_a_computer() -> None:
    rate = matmul_flops_per_second(384, 1536, torch.float32, torch.device("cpu"))
    assert 1e8 < rate < 1e15
