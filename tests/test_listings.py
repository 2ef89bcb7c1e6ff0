"""Every listing in a narrow terminal, in a pipe and as JSON: a name is always whole, on one line."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from rich.console import Console

from minbert.cli import app
from minbert.cli.comparison_summary import system_table
from minbert.cli.console import program_name, show_error, text_table
from minbert.cli.demo import SUGGESTED, show_next_steps
from minbert.cli.reproduce import outcome_table
from minbert.comparison.published import choose_rows
from minbert.comparison.reproduce import ReproductionCost, RowOutcome
from minbert.config.loading import shipped_recipes
from minbert.config.task import standard_tasks
from minbert.encoder.hub import KNOWN
from minbert.errors import UserError
from minbert.training.registry import list_techniques
from tests.browser import samples
from tests.workbench import Minbert, demo_recipe, run_all

LONG = "a-very-long-folder-name-that-nobody-would-want-to-see-cut-in-two-pieces"


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / LONG / "run"
    run_all(demo_recipe(tiny), folder)
    return folder


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words_of(listing: str) -> set[str]:
    return set(listing.replace(",", " ").split())


NAMES = {
    "recipes": shipped_recipes(),
    "tasks": [*standard_tasks(), "ids-cfimdb-train.csv"],
    "models": [*KNOWN, *(known.hub for known in KNOWN.values())],
    "techniques": [name for each in list_techniques() for name in (each.family, each.name, *each.settings)],
}


@pytest.mark.parametrize("command", NAMES)
@pytest.mark.parametrize("columns", [80, 40, None])
def test_every_name_is_whole_on_one_line(
    command: str, columns: int | None, minbert: Minbert, monkeypatch: pytest.MonkeyPatch
) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    said = minbert(command)
    assert said.code == 0, said.err
    assert set(NAMES[command]) <= words_of(said.out)
    assert "…" not in said.out
    if columns == 80:
        table = said.out.split("\n\n")[0]
        assert max(map(len, table.splitlines())) <= 80


@pytest.mark.parametrize("command", NAMES)
def test_every_listing_is_also_json(command: str, minbert: Minbert) -> None:
    found = json.loads(minbert(command, "--json").out)
    key = {"recipes": "recipe", "tasks": "task", "models": "name", "techniques": "name"}[command]
    listed = {each[key] for each in found}
    assert listed & set(NAMES[command]) == listed != set()


def test_a_run_is_listed_by_its_whole_path(minbert: Minbert, run: Path, narrow: None) -> None:
    said = minbert("runs", run.parent)
    assert said.out.splitlines()[:2] == ["run", str(run)]
    assert "state finished" in said.out and "similarity" in words_of(said.out)
    assert json.loads(minbert("runs", run.parent, "--json").out)[0]["run"] == str(run)


def test_checks_and_scores_fit(minbert: Minbert, tiny: Path, run: Path, narrow: None) -> None:
    for words in (("check", "demo", "--set", f"backbone={tiny}"), ("evaluate", run), ("show", "demo")):
        said = minbert(*words)
        assert said.code == 0, said.err
        assert {"sentiment", "paraphrase", "similarity"} <= words_of(said.out + said.err)
        assert json.loads(minbert(*words, "--json").out)
    lines = minbert("check", "demo", "--set", f"backbone={tiny}").out.splitlines()
    assert max(map(len, lines)) <= 80


def rendered(table: object, width: int) -> list[str]:
    page = Console(width=width, highlight=False)
    with page.capture() as capture:
        page.print(table, crop=False)
    return capture.get().splitlines()


def test_what_reproduce_shows_has_whole_names() -> None:
    rows = choose_rows(["c"])
    cost = ReproductionCost(100.0, 10, 1_000_000, 5, 5, 1.0)
    table = outcome_table([RowOutcome(row, {"sst": 0.5}, cost=cost) for row in rows])
    lines = rendered(table, 80)
    assert {row.id for row in rows} <= {line.strip() for line in lines}
    assert max(map(len, lines)) <= 80
    assert all(set(row.title.split()) <= set(" ".join(lines).split()) for row in rows)


def test_three_layouts() -> None:
    """Columns; columns with the description below; a paragraph per row."""
    table = text_table("name", "rows", "about", right=("rows",), wrap=("about",))
    table.add_row("[bold]a-name-of-23-characters[/]", "1,000", "A description of some words\nand a second line")
    table.add_row("b", "2", "")
    assert rendered(table, 100) == [
        "name                      rows  about",
        "a-name-of-23-characters  1,000  A description of some words",
        "                                and a second line",
        "b                            2",
    ]
    assert rendered(table, 57)[1:3] == [
        "a-name-of-23-characters  1,000  A description of some",
        "                                words",
    ]
    assert rendered(table, 40) == [
        "name                      rows",
        "a-name-of-23-characters  1,000",
        "    A description of some words",
        "    and a second line",
        "b                            2",
    ]
    assert rendered(table, 24) == [
        "name",
        "a-name-of-23-characters",
        "    rows 1,000",
        "    A description of",
        "    some words",
        "    and a second line",
        "b",
        "    rows 2",
    ]


def test_settings_are_toml_with_their_choices(minbert: Minbert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    adapters, algorithms = minbert("techniques", "adapters").out, minbert("techniques", "algorithm").out
    assert 'start = "zero" | "normal"' in adapters and "bias = false" in adapters
    assert "betas = [0.9, 0.999], eps = 1e-08, correct_bias = true" in algorithms
    everything = minbert("techniques").out
    for python in ("None", "True", "False", "('", "'u'", "typing"):
        assert python not in everything


def test_commands_are_printed_as_they_work_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name where the shell finds it, else by its path."""
    program = tmp_path / "bin" / "minbert"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program_name() == "bin/minbert"
    monkeypatch.setattr(sys, "argv", ["bin/minbert"])
    assert program_name() == "bin/minbert"
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_name() == "minbert"
    # another one is found first
    other = tmp_path / "other" / "minbert"
    other.parent.mkdir()
    other.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program_name() == "bin/minbert"


def test_next_steps_name_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "minbert").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    wrong = UserError("Wrong.", "Run `minbert train x`, with another version of minbert if need be.")
    for path, program in (("/nowhere", "./minbert"), (str(tmp_path), "minbert")):
        monkeypatch.setattr(sys, "argv", ["./minbert"])
        monkeypatch.setenv("PATH", path)
        show_error(wrong)
        assert f"Run `{program} train x`, with another version of minbert" in capsys.readouterr().err


def test_the_demo_ends_with_commands_that_work_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `make demo`, where the shell does not find minbert, and in a narrow terminal."""
    program = tmp_path / ".venv" / "bin" / "minbert"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/minbert", "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("COLUMNS", "40")
    show_next_steps(Path("build/my demo"))
    commands = [shlex.split(line) for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert commands[0] == [".venv/bin/minbert", "predict", "build/my demo", "sentiment", SUGGESTED]
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for program_word, name, *words in commands:
        assert program_word == ".venv/bin/minbert"
        group.commands[name].make_context(name, words)


def test_a_pipe_gets_whole_lines() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "minbert", "recipes"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    header, *rows = said.split("\n\n")[0].splitlines()
    assert header.split() == ["recipe", "tasks", "about"]
    assert [row.split()[0] for row in rows] == shipped_recipes()


def test_a_comparison_shows_whole_labels() -> None:
    results = samples.whole()
    systems = tuple(replace(each, label=f"recipes/{LONG}-{i}.toml") for i, each in enumerate(results.systems))
    lines = rendered(system_table(replace(results, systems=systems)), 80)
    assert {each.label for each in systems} <= set(lines)
    assert max(len(line) for line in lines if LONG not in line) <= 80
