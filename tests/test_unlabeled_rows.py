"""Test rows without labels: GLUE and others write -1 there."""

from pathlib import Path
from typing import Any

import datasets
import pytest

import minbert
from minbert.data.infer_task import infer_tasks
from tests.test_python import ROWS, train
from tests.workbench import write_csv

LABELED = [{"review": row["review"], "label": row["stars"] - 1} for row in ROWS]  # type: ignore[operator]
UNLABELED = [{**row, "label": -1} for row in LABELED[:8]]


def csv_of(path: Path, rows: list[dict[str, Any]]) -> Path:
    return write_csv(path, "review,label", [f"{row['review']},{row['label']}" for row in rows])


def test_a_test_split_without_labels_adds_no_class(tmp_path: Path, tiny: Path) -> None:
    splits = {"train": LABELED, "validation": LABELED[:8], "test": UNLABELED}
    data = datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in splits.items()})
    with pytest.warns(
        UserWarning, match=r"rows \(test\): all 8 rows are unlabeled \('label' is -1\), so there is no te"
    ):
        run = train(data, tmp_path / "run", tiny)
    assert run.model.task("label").labels == (0, 1)
    assert run.outcomes["label"].test is None


def test_a_class_label_without_labels_is_said_to_be_unlabeled(tmp_path: Path, tiny: Path) -> None:
    features = datasets.Features(
        {"review": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    train_rows, test_rows = (datasets.Dataset.from_list(rows, features) for rows in (LABELED, UNLABELED))
    with pytest.warns(UserWarning, match=r"s \(test\): all 8 rows are unlabeled \(without a 'label'\)"):
        run = train({"s": {"train": train_rows, "test": test_rows}}, tmp_path / "run", tiny)
    assert run.outcomes["s"].test is None


def test_only_the_labeled_test_rows_are_scored(tmp_path: Path, tiny: Path) -> None:
    rows = [*UNLABELED, *LABELED[:6]]
    with pytest.warns(UserWarning, match=r"s \(test\): 8 rows are unlabeled \('label' is -1\) and not scored; 6 are"):
        run = train({"s": {"train": LABELED, "test": rows}}, tmp_path / "run", tiny)
    assert run.model.task("s").labels == (0, 1)
    expected = run.evaluate(LABELED[:6])["s"]["accuracy"]
    assert run.outcomes["s"].test == pytest.approx(expected)


def test_files_of_test_rows_without_labels(tmp_path: Path, minbert: Any) -> None:
    train_file, test_file = csv_of(tmp_path / "x-train.csv", LABELED), csv_of(tmp_path / "x-test.csv", UNLABELED)
    said = minbert("check", train_file, test_file)
    assert "x-test.csv: all 8 rows are unlabeled ('label' is -1), so there is no test score" in said.out
    assert "labels = 0, 1:" in said.out


def test_minus_one_is_a_label_if_training_rows_have_it(tmp_path: Path) -> None:
    rows = [{**row, "label": 2 * row["label"] - 1} for row in LABELED]
    (found,) = infer_tasks([csv_of(tmp_path / "x-train.csv", rows), csv_of(tmp_path / "x-test.csv", UNLABELED)])
    assert found.tasks[0].settings["labels"] == [-1, 1] and "test" in found.tasks[0].settings["files"]


@pytest.mark.parametrize(("lowest", "scores"), [(0, [0.0, 5.0]), (-3, [-3.0, 2.0])])
def test_scores_below_zero_make_minus_one_a_score(lowest: int, scores: list[float], tmp_path: Path) -> None:
    rows = [{**row, "label": lowest + i % 11 / 2} for i, row in enumerate(LABELED)]
    test_rows = [{**row, "label": "-1.0"} for row in LABELED[:8]]
    (found,) = infer_tasks([csv_of(tmp_path / "x-train.csv", rows), csv_of(tmp_path / "x-test.csv", test_rows)])
    settings = found.tasks[0].settings
    assert settings["kind"] == "score" and settings["range"] == scores
    assert ("test" in settings["files"]) == (lowest < 0)


def test_warnings_about_the_data_are_shown_without_a_bar(tmp_path: Path, tiny: Path) -> None:
    rows = [{"review": row["review"], "label": ("Good", "good", "bad")[i % 3]} for i, row in enumerate(ROWS)]
    with pytest.warns(UserWarning, match="differ only in case"):
        train({"s": rows}, tmp_path / "run", tiny)
    with pytest.warns(UserWarning, match="differ only in case"):
        minbert.train_events({"s": rows}, tmp_path / "events", backbone=tiny).close()
