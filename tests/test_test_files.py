"""Test files: examined before training, and scored at the end with rows and interval; leaks are shown wherever scores
are."""

import json
from pathlib import Path
from typing import Any

import pytest

from minbert.data.intervals import wilson_interval
from minbert.files import sha256
from tests.test_data_check import recipe_of, yes_no
from tests.workbench import Minbert, write_csv


@pytest.fixture
def tested(tmp_path: Path, tiny: Path) -> Path:
    """Of 35 test rows, two are training rows and one is a dev row, in other spellings."""
    train = yes_no([f"film number {i} was fine" for i in range(60)])
    recipe = recipe_of(tmp_path, tiny, train, yes_no([f"book {i} is new" for i in range(32)]))
    test = [
        "Film number 4 was FINE",
        "Film number 5 was FINE",
        "Book 6 is new!",
        *(f"car {i} is red" for i in range(32)),
    ]
    write_csv(tmp_path / "test.csv", "review,liked", yes_no(test))
    task = tmp_path / "films.toml"
    task.write_text(task.read_text() + 'test = "test.csv"\n')
    return recipe


def test_check_examines_the_test_file(minbert: Minbert, tested: Path) -> None:
    said = minbert("check", tested, "--json")
    report: dict[str, Any] = json.loads(said.out)
    assert said.code == 1
    assert [(split["split"], split["rows"]) for split in report["splits"]] == [("train", 60), ("dev", 32), ("test", 35)]
    assert report["leaked_rows"] == 0
    assert report["leaked_test_rows"] == 3 and report["leaked_test_lines"] == {"films": [2, 3, 4]}
    assert [finding["message"] for finding in report["findings"] if finding["severity"] == "wrong"] == [
        "films: 3 of 35 test rows are also training or dev rows (3 of 'films'), such as test.csv:2: "
        "Film number 4 was FINE"
    ]
    [leak] = report["test_leaks"]
    assert (leak["test"], leak["train_or_dev"], leak["examples"]) == ("films", "films", 3)
    shown = minbert("check", tested).out
    assert "test rows of" in shown and "No dev text occurs in the training data." in shown


def test_bad_test_rows_stop_before_training(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    with (tmp_path / "test.csv").open("a", encoding="utf-8") as file:
        file.write("a red car,perhaps\n")
    said = minbert("check", tested)
    assert said.code == 2 and "test.csv:37: 'liked' is 'perhaps'" in said.out
    said = minbert("train", tested, "--out", tmp_path / "run")
    assert said.code == 2 and "test.csv:37" in said.err and not (tmp_path / "run").exists()
    report = json.loads(minbert("check", tested, "--skip-bad-rows", "--json").out)
    assert report["splits"][2]["skipped"] == 1 and "test.csv:37" in report["skipped"]["films"][0]


def test_the_test_score_has_rows_interval_and_leaks(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = minbert("train", tested, "--out", run)
    assert said.code == 0
    assert "warning: films: 3 of 35 test rows are also training or dev rows" in " ".join(said.err.split())
    assert "60 training rows, 32 dev rows, 35 test rows" in said.err
    about = json.loads((run / "run.json").read_text())
    found, leaks = about["outcomes"]["films"], about["test_leaks"]["films"]
    assert found["test"] == about["test"]["films"]["accuracy"] and found["test_rows"] == 35
    assert (found["test_low"], found["test_high"]) == pytest.approx(wilson_interval(round(35 * found["test"]), 35))
    assert leaks["rows"] == 3 and leaks["in_training_or_dev_rows_of"] == {"films": 3}
    # it is not scored on test rows
    assert leaks["probe_without"] is None
    line = f"films: test accuracy {found['test']:.3f}, without 3 leaked rows {leaks['scores_without']['accuracy']:.3f}"
    interval = f"{found['test_low']:.3f} to {found['test_high']:.3f}"
    for shown in (said.out, minbert("evaluate", run).out):
        assert line in shown and interval in shown and "test rows" in shown
    evaluated = json.loads(minbert("evaluate", run, "--json").out)
    assert evaluated["outcomes"]["films"] == found and evaluated["test_leaks"] == about["test_leaks"]
    assert evaluated["leaks"] == {}


def test_strict_stops_for_test_rows_too(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    said = minbert("train", tested, "--out", tmp_path / "run", "--strict")
    assert said.code == 2 and "3 of 35 test rows" in said.err and not (tmp_path / "run").exists()


def test_evaluate_shows_the_leaks_of_the_run(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    train = yes_no([f"film number {i} was fine" for i in range(60)])
    # "no", "yes", "no" are the leaked rows; 18 of the other 37 are "no"
    dev = yes_no([f"Film NUMBER {i} was fine!" for i in range(3)] + [f"book {i} is new" for i in range(37)])
    recipe = recipe_of(tmp_path, tiny, train, dev)
    shown = minbert("train", recipe, "--out", tmp_path / "run").out
    leaks = json.loads((tmp_path / "run/run.json").read_text())["leaks"]
    assert leaks["films"]["constant_without"]["accuracy"] == pytest.approx(18 / 37)
    [line] = [line for line in shown.splitlines() if "leaked rows" in line]
    assert line.endswith(f"(constant 0.486, untrained {leaks['films']['probe_without']['accuracy']:.3f})")
    assert line in minbert("evaluate", tmp_path / "run").out
    assert json.loads(minbert("evaluate", tmp_path / "run", "--json").out)["leaks"] == leaks
    # another file has leaks of its own
    file = write_csv(tmp_path / "other.csv", "review,liked", dev[3:])
    other = json.loads(minbert("evaluate", tmp_path / "run", "--data", f"films={file}", "--json").out)
    assert other["leaks"] == {} and other["test_leaks"] == {}


# ---- test files that are missing, broken, without labels, or moved ------------------------------------


def test_a_missing_test_file_stops_before_training(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    (tmp_path / "test.csv").unlink()
    for command in (["check", tested], ["train", tested, "--out", tmp_path / "run"]):
        said = minbert(*command)
        words = " ".join(said.err.split())
        assert said.code == 2 and "Task 'films': its test file is missing" in words and "test.csv" in words
        assert "or remove 'test' from [files]" in words and not (tmp_path / "run").exists()


def test_a_broken_test_file_is_not_left_out(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv", "critique,liked", ["a red car,yes"])
    said = minbert("check", tested)
    assert said.code == 2 and "test.csv: no column 'review'" in " ".join(said.err.split())


def test_a_test_file_without_labels_is_said(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv", "review", ["a red car", "a blue car"])
    report: dict[str, Any] = json.loads(minbert("check", tested, "--json").out)
    assert "films: its test file has no column 'liked', so there is no test score" in " ".join(
        finding["message"] for finding in report["findings"] if finding["severity"] == "warning"
    )
    assert [split["split"] for split in report["splits"]] == ["train", "dev"]


def test_a_run_knows_where_its_test_file_is_and_what_was_in_it(minbert: Minbert, tested: Path, tmp_path: Path) -> None:
    """With --data-root, it is not beside the task file; the run's own recipe repeats the run."""
    (tmp_path / "data").mkdir()
    moved = tmp_path / "data/test.csv"
    (tmp_path / "test.csv").rename(moved)
    assert minbert("train", tested, "--data-root", tmp_path / "data", "--out", tmp_path / "run").code == 0
    hashes = json.loads((tmp_path / "run/run.json").read_text())["sha256"]["data"]
    assert hashes["films test"] == sha256(moved)
    report = json.loads(minbert("check", tmp_path / "run/recipe.toml", "--json").out)
    assert [split["split"] for split in report["splits"]] == ["train", "dev", "test"]
