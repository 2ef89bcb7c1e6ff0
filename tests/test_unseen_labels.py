"""Dev and test rows whose label no training row has: counted, named, and scored with and without them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workbench import Minbert, write_csv

TRAIN = [f"film number {i} was {'fine,good' if i % 2 else 'poor,bad'}" for i in range(60)]
DEV = [f"book {i} was {'fine,good' if i % 2 else 'poor,bad'}" for i in range(32)]
TEST = ["a new car,odd", *DEV[:30], "a red car,odd", "a blue car,new"]
SAID = "3 of 33 test rows have a label that no training row has: odd (2), new (1), such as x-test.csv:2"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    rows = {"train": TRAIN, "dev": DEV, "test": TEST}
    return [write_csv(tmp_path / f"x-{role}.csv", "review,mood", each) for role, each in rows.items()]


def findings(minbert: Minbert, *given: object) -> list[str]:
    report: dict[str, Any] = json.loads(minbert("check", *given, "--json").out)
    return [each["message"] for each in report["findings"] if each["severity"] == "wrong"]


def test_check_counts_and_names_test_rows_of_labels_that_are_not_trained(minbert: Minbert, files: list[Path]) -> None:
    said = [message for message in findings(minbert, *files) if "no training row" in message]
    assert said == [f"mood: {SAID}; no model can learn it, so these rows count as errors"]


def test_dev_rows_too(minbert: Minbert, files: list[Path]) -> None:
    write_csv(files[1], "review,mood", [*DEV, "a new car,odd"])
    [dev, test] = [message for message in findings(minbert, *files) if "no training row" in message]
    assert "1 of 33 dev rows has a label that no training row has: odd (1), such as x-dev.csv:34" in dev
    assert SAID in test


def test_the_score_is_shown_with_and_without_them(
    minbert: Minbert, files: list[Path], tiny: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    said = minbert("train", *files, "--set", f"backbone={tiny}", "--set", "epochs=1", "--out", run)
    assert said.code == 0, said.err
    assert f"warning: mood: {SAID}" in " ".join(said.err.split())
    about = json.loads((run / "run.json").read_text())
    found = about["unseen_labels"]["mood"]["test"]
    assert about["unseen_labels"]["mood"].keys() == {"test"}
    assert (found["rows"], found["labels"], found["sample"]) == (3, {"odd": 2, "new": 1}, "x-test.csv:2")
    # the other rows are right or wrong as before: of 33 rows, three cannot be right
    test = about["test"]["mood"]["accuracy"]
    assert found["scores_without"]["accuracy"] * 30 == pytest.approx(test * 33)
    without = found["scores_without"]["accuracy"]
    line = f"mood: test accuracy {test:.3f}, without 3 rows whose label no training row has {without:.3f}"
    assert line in said.out and line in minbert("evaluate", run).out
    assert json.loads(minbert("evaluate", run, "--json").out)["unseen_labels"] == about["unseen_labels"]


def test_evaluate_says_it_of_any_file(minbert: Minbert, files: list[Path], tiny: Path, tmp_path: Path) -> None:
    run, other = tmp_path / "run", write_csv(tmp_path / "other.csv", "review,mood", ["a boat,odd", "a ship,new"])
    minbert("train", *files, "--set", f"backbone={tiny}", "--set", "epochs=1", "--out", run)
    said = minbert("evaluate", run, "--data", f"mood={other}").out
    assert "mood: accuracy 0.000, and no training row has the labels of its rows: odd (1), new (1)" in said
    assert json.loads(minbert("evaluate", run, "--data", f"mood={other}", "--json").out)["unseen_labels"]["mood"][
        "dev"
    ] == {"rows": 2, "labels": {"odd": 1, "new": 1}, "sample": "other.csv:2", "scores_without": None}


def test_a_label_that_the_settings_do_not_have_is_a_bad_row_with_its_line(
    minbert: Minbert, files: list[Path], tmp_path: Path
) -> None:
    """In a task file without labels, they are those of the training file."""
    task = 'kind = "classify"\ntext = ["review"]\nlabel = "mood"\n[files]\ntrain = "x-train.csv"\ntest = "x-test.csv"\n'
    (tmp_path / "mood.toml").write_text(task)
    (tmp_path / "recipe.toml").write_text('[tasks.mood]\ntask = "mood.toml"\n')
    said = minbert("check", tmp_path / "recipe.toml")
    assert said.code == 2 and "x-test.csv:2, 33: 'mood' is 'odd', not one of the labels bad, good" in said.out
    words = " ".join(said.err.split())
    assert "A model predicts only the labels of its training rows" in words and "--skip-bad-rows" in words
