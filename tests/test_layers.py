"""The rules of ARCHITECTURE.md, enforced: packages only import those before them, and files stay readable."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/minbert"
FILES = sorted(SOURCE.rglob("*.py"))
# a package may import those above it
ORDER = ["errors", "plural", "durations", "files", "config", "data", "encoder", "model", "inference", "training"]
ORDER += ["runs", "comparison", "analysis", "report", "cli", "python", "__main__"]
READING_ORDER = ["config/task", "data/dataset", "data/tokenizer", "data/batch", "encoder/bert", "model/heads/linear"]
READING_ORDER += ["model/multitask", "inference/predictor", "training/stages", "training/loop", "runs/run"]
# everything may know the version; __init__.py is the front door, and opens it only when it is asked to
FRONT = {"__version__"}


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


each_file = pytest.mark.parametrize("path", FILES, ids=name_of)


def package_of(path: Path) -> str:
    """errors for errors.py, model for model/heads/linear.py."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """("minbert.model.heads", "Head") for `from minbert.model.heads import Head`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "minbert":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "minbert")


def packages_of(module: str, name: str) -> str:
    parts = [*module.split("."), name]
    return parts[1]


def test_every_package_has_its_place() -> None:
    found = {package_of(path) for path in FILES} - {"__init__"}
    assert found == set(ORDER)


@each_file
def test_imports_only_go_one_way(path: Path) -> None:
    here = package_of(path)
    if here == "__init__":
        return
    for module, name in imports_of(path):
        other = packages_of(module, name)
        if other not in FRONT:
            assert ORDER.index(other) <= ORDER.index(here), f"{here} imports {other}, which comes after it"


@each_file
def test_no_package_imports_the_private_parts_of_another(path: Path) -> None:
    for module, name in imports_of(path):
        private = [part for part in (*module.split("."), name) if part.startswith("_") and not part.startswith("__")]
        assert not private or packages_of(module, name) == package_of(path), f"{module}.{name}"


def test_the_encoder_knows_neither_tasks_nor_heads() -> None:
    found = {module for module, _ in imports_of(SOURCE / "encoder/bert.py")}
    assert found <= {"minbert.data.packed", "minbert.encoder.attention", "minbert.encoder.dropout"}


def test_no_top_level_name_has_two_meanings() -> None:
    found: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            for name in names:
                found.setdefault(name, []).append(name_of(path))
    # the front door and the commands are called what they do
    allowed = ("__all__", "load", "resume", "train", "tune")
    shared = {name: paths for name, paths in found.items() if len(paths) > 1 and name not in allowed}
    assert not shared


@each_file
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 40, f"{node.name} has {node.end_lineno - node.lineno + 1} lines"


def test_half_of_the_files_are_short() -> None:
    assert median(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) < 120


@each_file
def test_only_the_command_line_prints_and_reads_its_arguments(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if package_of(path) != "cli":
        assert not re.search(r"(?<![\w.])print\(", text)
        assert "sys.argv" not in text


@each_file
def test_importing_a_module_changes_nothing_else(path: Path) -> None:
    """A bare call at the top of a module sets something for the whole process."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        assert not bare or path.name == "__main__.py", ast.unparse(node)


def test_the_reading_order_opens_with_in_and_out() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in READING_ORDER:
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        first = (ast.get_docstring(tree) or "").splitlines()[0]
        assert "->" in first, f"{name}.py should open with one line 'in -> out', not {first!r}"
        assert f"{name}.py" in page, f"ARCHITECTURE.md does not name {name}.py"


def test_the_architecture_page_names_every_package_in_order() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = [page.index(f"`{name}/`") for name in ORDER if (SOURCE / name).is_dir()]
    assert places == sorted(places)
    assert "```mermaid" in page


def test_importing_minbert_does_not_import_torch() -> None:
    code = "import minbert, sys; dir(minbert); assert not {'torch', 'numpy', 'sklearn', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_does_not_import_torch() -> None:
    code = "import minbert, minbert.cli, sys; assert not {'torch', 'numpy', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
