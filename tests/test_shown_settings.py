"""What commands say about settings: those that were chosen, those that were set, and those in their help."""

import signal
from pathlib import Path

import pytest

from minbert.cli import COMMANDS
from minbert.cli.interrupts import StopSignal
from tests.workbench import Minbert, write_csv


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "reviews.csv", "review,stars", [f"A film of {i} words,{i % 2}" for i in range(40)])


def words(text: str) -> str:
    return " ".join(text.split())


def test_what_the_user_set_is_not_called_chosen(minbert: Minbert, tiny: Path, stars: Path, tmp_path: Path) -> None:
    begin = ("train", stars, "--set", f"backbone={tiny}", "--set", "epoch_fraction=0.02")
    said = words(minbert(*begin, "--out", tmp_path / "a").err)
    assert "evaluations on all dev rows (--set selection.eval_rows=...)" in said
    assert "(--set tasks.TASK.batch_size=..., tasks.TASK.head=...)" in said and "pairing" not in said
    assert "of this machine's peak" not in said
    options = ["optimizer.learning_rate=1e-5", "selection.patience=2", "epochs=1", "tasks.stars.head=linear"]
    more = [word for option in options for word in ("--set", option)]
    said = words(minbert(*begin, *more, "--max-length", "64", "--out", tmp_path / "b").err)
    for setting in ("optimizer.learning_rate", "selection.patience", "epochs", "tasks.TASK.head", "max_length"):
        assert f"{setting}=..." not in said
    assert "(--set tasks.TASK.batch_size=...)" in said and "optimizer.head_learning_rate=..." in said
    assert "1 steps" not in said and "1 evaluations" not in said
    assert "at most 64 tokens of each row are read" in said


def test_a_length_that_the_backbone_cannot_read_is_said(minbert: Minbert, tiny: Path, stars: Path) -> None:
    said = words(minbert("check", stars, "--set", f"backbone={tiny}", "--max-length", "100000").out)
    assert "warning: stars: max_length 100,000 is more than the backbone reads: at most 128 tokens" in said


def test_a_command_line_of_train_can_be_checked(minbert: Minbert, tiny: Path, stars: Path, tmp_path: Path) -> None:
    options = ("--task", "liked", "--metric", "macro_f1", "--max-length", "64")
    said = minbert("check", stars, *options, "--recipe", "demo", "--set", f"backbone={tiny}")
    assert said.code == 0 and "task liked" in said.out and "metric = macro_f1: named by --metric" in said.out
    assert minbert("init", stars, *options, "--out", tmp_path / "init").code == 0
    task = (tmp_path / "init/tasks/liked.toml").read_text()
    assert 'metric = "macro_f1"' in task and "max_length = 64" in task and "# max_length = 256" not in task


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (1.5, 5.5, "range = 1, 7: the values go from 1.5 to 5.5, and 1 to 7 is the smallest usual scale with them"),
        (-3, 100, "range = -5, 100: the values go from -3 to 100, rounded outwards"),
        (0, 5, "range = 0, 5: the values go from 0 to 5\n"),
    ],
)
def test_the_range_is_explained(low: float, high: float, reason: str, minbert: Minbert, tmp_path: Path) -> None:
    values = [low, high, *(low + (high - low) * i / 41.3 for i in range(1, 40))]
    file = write_csv(tmp_path / "x.csv", "text,score", [f"A film of {i} words,{v}" for i, v in enumerate(values)])
    assert reason in minbert("init", file, "--out", tmp_path / "init").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns(command: str, minbert: Minbert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = minbert(command, "--help").out
    assert "…" not in said and "<bool>" not in said


def test_a_long_name_stays_whole_in_eighty_columns(
    minbert: Minbert, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "stars_" * 16
    file = write_csv(tmp_path / "x.csv", f"text,{name}", [f"A film of {i} words,{i % 2}" for i in range(40)])
    said = minbert("check", file, "--set", f"backbone={tiny}", "--label", name).out
    task = name.strip("_")
    assert f"  task\n  {task}\n" in said and f"{task}:\nonly 4 dev rows" in said


def test_check_counts_problems(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [f"อาหารอร่อยและราคาถูก {i},{i % 2}" for i in range(400)]
    file = write_csv(tmp_path / "x.csv", "text,label", rows)
    said = minbert("check", file, "--set", f"backbone={tiny}")
    assert said.code == 1 and "1 problem, marked as wrong above" in said.out and "would be enough" not in said.out


@pytest.mark.parametrize(
    ("number", "how"), [(signal.SIGINT, "Press Ctrl-C again"), (signal.SIGTERM, "Send the signal")]
)
def test_how_to_stop_at_once(number: signal.Signals, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    StopSignal().handle(number, None)
    assert how in capsys.readouterr().err
