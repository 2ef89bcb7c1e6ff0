"""At 80 columns, no listing splits a word or a name, and what a live view leaves behind can be read."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minbert.cli.comparison_summary import show_comparison
from minbert.cli.reproduce import outcome_table
from minbert.cli.tuning_summary import show_tuning
from minbert.comparison.published import choose_rows, read_published
from minbert.comparison.reproduce import ReproductionCost, RowOutcome
from minbert.comparison.results import TrialResult
from minbert.comparison.search_space import Candidate
from minbert.comparison.tuning_results import SettingResult, TuningResults
from minbert.config.loading import shipped_recipes
from tests.browser import samples
from tests.terminal import COLUMNS, Screen, read_some, read_to_end, start_on_terminal
from tests.workbench import Minbert, demo_recipe, run_all, write_csv

has_terminals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
LONGEST = sorted(shipped_recipes(), key=len)[-5:]


def on_screen(printed: str) -> list[str]:
    """As the terminal breaks what is longer than its lines."""
    lines = [line for line in printed.splitlines() if " minbert " not in line]
    return [line[start : start + COLUMNS] for line in lines for start in range(0, len(line) or 1, COLUMNS)]


def assert_whole_words(narrow: str, wide: str) -> None:
    assert "…" not in narrow
    assert {word for line in on_screen(narrow) for word in line.split()} <= set(wide.split())


@pytest.fixture(scope="module")
def folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and predictions of two systems."""
    home = tmp_path_factory.mktemp("listed")
    run_all(demo_recipe(tiny), home / "runs/a-run-with-a-long-name")
    gold = [i % 2 for i in range(60)]
    write_csv(home / "gold.csv", "id,label", [f"{i},{label}" for i, label in enumerate(gold)])
    for name, wrong in (("base", 3), ("new", 7)):
        answers = [f"{i},{label if i % wrong else 1 - label}" for i, label in enumerate(gold)]
        write_csv(home / f"{name}.csv", "id,prediction", answers)
    return home


LISTINGS: list[tuple[str, ...]] = [
    ("recipes",),
    ("techniques",),
    ("tasks",),
    ("models",),
    ("runs", "runs"),
    ("check", "demo"),
    ("evaluate", "runs/a-run-with-a-long-name"),
    ("significance", "--gold", "gold.csv", f"--system={LONGEST[0]}=base.csv", f"--system={LONGEST[1]}=new.csv"),
]


@pytest.mark.parametrize("words", LISTINGS, ids=lambda words: words[0])
def test_a_listing_has_whole_words(
    words: tuple[str, ...], folder: Path, tiny: Path, minbert: Minbert, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    more = (f"--set=backbone={tiny}",) if words[0] == "check" else ()
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = minbert(*words, *more)
    assert wide.code == 0, wide.err
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    assert_whole_words(minbert(*words, *more).out, wide.out)


def test_the_parameters_and_deviations_of_a_recipe_have_whole_words(
    tiny: Path, minbert: Minbert, monkeypatch: pytest.MonkeyPatch
) -> None:
    # standard output is a TOML file
    for name in LONGEST:
        monkeypatch.delenv("COLUMNS", raising=False)
        wide = minbert("show", name, "--set", f"backbone={tiny}")
        monkeypatch.setenv("COLUMNS", str(COLUMNS))
        narrow = minbert("show", name, "--set", f"backbone={tiny}")
        assert narrow.out == wide.out
        assert_whole_words(narrow.err, wide.err)


def show_long_comparison() -> None:
    found = samples.whole()
    names = [*LONGEST, *shipped_recipes()][: len(found.systems)]
    old = {each.label: name for each, name in zip(found.systems, names, strict=True)}
    systems = tuple(replace(each, label=old[each.label]) for each in found.systems)
    caveats = (f"{names[0]} and {names[1]} stopped after different numbers of steps, so their costs differ a lot.",)
    show_comparison(replace(found, systems=systems, baseline=old[found.baseline], caveats=caveats))


def show_long_reproduction() -> None:
    from minbert.cli.console import console

    cost = ReproductionCost(12345.0, 123_456, 123_456_789, 335_000_000, 335_000_000, 1.0)
    rows = choose_rows(list(read_published()), (), True)
    console.print(outcome_table([RowOutcome(row, {"sst": 0.5}, cost=cost) for row in rows]))


def show_long_search() -> None:
    settings = (("optimizer.head_learning_rate", "0.00015"), ("tasks.sentiment.head.dropout", "0.25"))
    done = TrialResult("key", "label", 0, "finished", "", {"sentiment": {"accuracy": 0.5}}, 0.5, None, "where")
    result = SettingResult(Candidate(settings), 1.0, {1: done, 2: replace(done, overall=0.6)})
    paths = tuple(path for path, _ in settings)
    show_tuning(TuningResults("demo", "grid", 2, 0, "whole recipes", "", (result,), paths), None)


@pytest.mark.parametrize("show", [show_long_comparison, show_long_reproduction, show_long_search])
def test_results_have_whole_words(
    show: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show()
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    show()
    assert_whole_words(capsys.readouterr().out, wide)


@has_terminals
def test_a_real_terminal_shows_whole_names(tmp_path: Path) -> None:
    process, terminal = start_on_terminal(["recipes"], tmp_path)
    lines = Screen(read_to_end(terminal)).text
    assert process.wait() == 0
    assert set(shipped_recipes()) <= set(lines)


@has_terminals
def test_a_stopped_training_leaves_a_clean_screen(tiny: Path, tmp_path: Path) -> None:
    """Ctrl-C: no bar is left, the cursor is back, and the last line is the command that resumes."""
    short = ["--set", f"backbone={tiny}", "--set", "stages.0.steps_per_epoch=5000"]
    process, terminal = start_on_terminal(["train", "demo", "--out", "run", *short], tmp_path)
    seen = ""
    while "tokens/s" not in seen and (some := read_some(terminal)):
        seen += some
    # the bar and the whole note are on the screen, and nothing is cut
    assert "loss sentiment" in seen and "remaining" in seen and "\u2026" not in seen
    # what the key sends; the terminal passes it on as a signal, and shows ^C
    os.write(terminal, b"\x03")
    seen += read_to_end(terminal)
    assert process.wait() == 130
    lines = [line for line in Screen(seen).text if line]
    assert lines[-1].startswith("Resume with:") and lines[-1].endswith("minbert resume run")
    assert lines[-2].startswith("Stopped after step ") and lines[-2].endswith("everything is saved.")
    assert not [line for line in lines if "elapsed" in line or "tokens/s" in line]
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
