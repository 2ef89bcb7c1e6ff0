import os
import sys
from pathlib import Path

import pytest

from minbert.cli import main
from minbert.encoder.precision import bf16_speed, has_bf16_units
from tests.tiny import tiny_backbone
from tests.workbench import Minbert, Said

# the same numbers on every machine, whatever is fastest there; tests of bf16 ask for it
os.environ["MINBERT_PRECISION"] = "fp32"
# the workers of `pytest -n` start with COLUMNS=80, but output to a pipe has no width
os.environ.pop("COLUMNS", None)

if has_bf16_units() and bf16_speed() == 0:
    # a virtual machine that lists AMX and does not have it: without it, bf16 can be tested here too
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
    bf16_speed.cache_clear()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny backbone on disk."""
    return tiny_backbone(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def minbert(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Minbert:
    """Run the real command in this process."""

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["minbert", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run
