import sys
from pathlib import Path

import pytest

from minbert.cli import main
from tests.tiny import tiny_backbone
from tests.workbench import Minbert, Said


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
