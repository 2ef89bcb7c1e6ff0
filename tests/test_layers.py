"""The rules of ARCHITECTURE.md, enforced: the layers it lists are the layers the code has."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/minbert"
LINE = re.compile(r"^  (?P<name>[a-z_]+)(?:\.py|/)\s.*?\s(?P<layer>\d+)(?:\s+READ \d)?\s*$")


def layers() -> dict[str, int]:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return {found["name"]: int(found["layer"]) for line in text.splitlines() if (found := LINE.match(line))}


def module_of(path: Path) -> str:
    """errors for errors.py, heads for heads/linear.py."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module == "minbert":
            names = [f"minbert.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("minbert.")}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


def test_every_module_has_a_layer_and_every_layer_a_module() -> None:
    assert set(layers()) == {module_of(path) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_go_down(path: Path) -> None:
    level, here = layers(), module_of(path)
    for other in imports_of(path) - {here, "__version__"}:
        assert level[other] < level[here], f"{here} (layer {level[here]}) imports {other} (layer {level[other]})"


def test_the_encoder_knows_neither_tasks_nor_heads() -> None:
    assert imports_of(SOURCE / "bert.py") <= {"attend", "dropout", "packed"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_readable_and_only_the_command_line_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    if module_of(path) != "cli":
        assert not re.search(r"(?<![\w.])print\(", text)


def test_the_readers_path_opens_with_in_and_out() -> None:
    for name in ("task", "table", "text", "batch", "bert", "heads/linear", "model", "predict"):
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        first = (ast.get_docstring(tree) or "").splitlines()[0]
        assert "->" in first, f"{name}.py should open with one line 'in -> out', not {first!r}"


def test_help_does_not_import_torch() -> None:
    code = "import minbert, minbert.cli, sys; assert not {'torch', 'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
