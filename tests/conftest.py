from pathlib import Path

import pytest

from tests.tiny import tiny_backbone


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny backbone on disk."""
    return tiny_backbone(tmp_path_factory.mktemp("models") / "tiny")
