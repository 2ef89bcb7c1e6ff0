"""Predictions -> files that read back to the same rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.config.task import Task, read_task
from minbert.data.dataset import Dataset, read_dataset
from minbert.data.readers import read_columns
from minbert.errors import UserError
from minbert.inference.course_format import CourseFormat
from minbert.inference.formats import write_predictions
from minbert.inference.task_predictions import TaskPredictions

FORMATS = [f"{kind}{gz}" for kind in ("csv", "tsv", "jsonl", "parquet") for gz in ("", ".gz")]
HOSTILE = [
    'She said "no", twice: ""',
    "two\nlines, and\r\na Windows one",
    "a lone\rcarriage return",
    "tab\there",
    "=1+1; 'quoted', back\\slash",
    "schön ไทย 🙂 \u2028 \x85 \u200d",
    "  spaces at both ends  ",
    "<script>alert(1)</script>",
    '"',
]


def dataset_of(*texts: list[str], labels: Any = None, ids: list[str] | None = None) -> Dataset:
    count = len(texts[0])
    labels = None if labels is None else np.array(labels)
    return Dataset(texts, labels, ids or [f"id{i}" for i in range(count)], list(range(2, count + 2)), Path("x.csv"))


def columns_of(path: Path, columns: list[str]) -> list[list[Any]]:
    return [values for _, values in read_columns(path, columns, "id") if not isinstance(values, str)]


@pytest.mark.parametrize("ending", FORMATS)
def test_predictions_of_a_classify_task_read_back_equal(tmp_path: Path, ending: str) -> None:
    task = Task("mine", Path(), kind="classify", text=("review",), label="stars", labels=("bad", "good"))
    dataset = dataset_of(HOSTILE, labels=[0, 1, 1] * 3)
    probabilities = np.array([[0.75, 0.25], [0.125, 0.875], [1 / 3, 2 / 3]] * 3, dtype=np.float32)
    path = tmp_path / "new" / f"predictions.{ending}"
    write_predictions(path, task, dataset, probabilities)
    again = read_dataset(path, task)
    assert again.texts == (HOSTILE,) and again.ids == dataset.ids
    assert again.labels is not None and again.labels.tolist() == [0, 1, 1] * 3
    found = columns_of(path, ["prediction", "probability", "p_bad", "p_good"])
    assert [row[0] for row in found] == ["bad", "good", "good"] * 3
    assert [[float(value) for value in row[1:4]] for row in found[:3]] == [
        [0.75, 0.75, 0.25],
        [0.875, 0.125, 0.875],
        [0.666667, 0.333333, 0.666667],
    ]


@pytest.mark.parametrize("ending", FORMATS)
def test_predictions_of_a_score_task_read_back_equal(tmp_path: Path, ending: str) -> None:
    task = read_task("sts")
    dataset = dataset_of(HOSTILE, HOSTILE[::-1], labels=[0.5 * i for i in range(9)])
    path = tmp_path / f"predictions.{ending}"
    write_predictions(path, task, dataset, np.array([i + 0.12345 for i in range(9)], dtype=np.float32) / 2)
    again = read_dataset(path, task)
    assert again.texts == (HOSTILE, HOSTILE[::-1])
    assert again.labels is not None and again.labels.tolist() == [0.5 * i for i in range(9)]
    assert [float(row[0]) for row in columns_of(path, ["prediction"])][:3] == [0.061725, 0.561725, 1.061725]


def test_unlabelled_rows_have_no_label_column(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    write_predictions(path, read_task("sst"), dataset_of(["fine"]), np.array([[0.0, 0, 0, 1, 0]]))
    assert path.read_text() == (
        "id,sentence,prediction,probability,p_0,p_1,p_2,p_3,p_4\nid0,fine,3,1.0,0.0,0.0,0.0,1.0,0.0\n"
    )


def test_jsonl_predictions_are_readable_by_people_and_have_numbers(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    write_predictions(path, read_task("sts"), dataset_of(["schön"], ["gut"]), np.array([4.5]))
    assert path.read_text(encoding="utf-8") == (
        '{"id": "id0", "sentence1": "schön", "sentence2": "gut", "prediction": 4.5}\n'
    )
    assert json.loads(path.read_text(encoding="utf-8"))["prediction"] == 4.5


def test_the_same_predictions_make_the_same_bytes(tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        for name in ("a", "b"):
            path = tmp_path / f"{name}.{ending}"
            write_predictions(path, read_task("sts"), dataset_of(HOSTILE, HOSTILE), np.arange(9.0) / 2)
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="predictions are not written as"):
        write_predictions(
            tmp_path / "new" / "predictions.xls", read_task("sts"), dataset_of(["a"], ["b"]), np.array([1.0])
        )
    assert not (tmp_path / "new").exists()


# ---- the course's format ------------------------------------------------------------------------------


def course(task: Task, dataset: Dataset, values: Any) -> bytes:
    """As FilePrediction writes it."""
    course_format = CourseFormat()
    columns = course_format.columns(task.text, dataset, [TaskPredictions(task, values)])
    return course_format.header(columns) + course_format.rows(columns)


def test_sentiment_in_the_courses_format() -> None:
    probabilities = np.eye(5, dtype=np.float32)[[4, 0]]
    dataset = dataset_of(["a", "b"], ids=["b7573736a6ddf7be102b7fee0", "d17a8752e342834fd18b31aaa"])
    assert course(read_task("sst"), dataset, probabilities) == (
        b"id \t Predicted_Sentiment \nb7573736a6ddf7be102b7fee0 , 4 \nd17a8752e342834fd18b31aaa , 0 \n"
    )


def test_the_other_sentiment_files_of_the_course_have_the_same_format() -> None:
    assert course(read_task("cfimdb"), dataset_of(["a"]), np.array([[0.1, 0.9]])) == (
        b"id \t Predicted_Sentiment \nid0 , 1 \n"
    )


def test_paraphrases_in_the_courses_format_are_rounded_floats() -> None:
    probabilities = np.array([[0.4, 0.6], [0.9, 0.1]], dtype=np.float32)
    assert course(read_task("quora"), dataset_of(["a", "b"], ["c", "d"]), probabilities) == (
        b"id \t Predicted_Is_Paraphrase \nid0 , 1.0 \nid1 , 0.0 \n"
    )


def test_similarities_in_the_courses_format_are_single_precision_floats() -> None:
    scores = np.array([2.3, 5.0, 0.1], dtype=np.float32)
    assert course(read_task("sts"), dataset_of(["a"] * 3, ["b"] * 3), scores) == (
        b"id \t Predicted_Similiary \nid0 , 2.3 \nid1 , 5.0 \nid2 , 0.1 \n"
    )


@pytest.mark.parametrize(
    "task",
    [
        Task("mine", Path(), kind="classify", text=("review",), label="stars", labels=(0, 1)),
        Task("mine", Path(), kind="classify", text=("review",), label="sentiment", labels=(0, 1)),
        Task("mine", Path(), kind="classify", text=("sentence",), label="sentiment", labels=("bad", "good")),
        Task("mine", Path(), kind="score", text=("sentence",), label="sentiment", range=(0.0, 1.0)),
    ],
)
def test_tasks_that_are_not_the_courses_are_refused(task: Task) -> None:
    with pytest.raises(UserError) as caught:
        course(task, dataset_of(["a"]), np.array([[0.5, 0.5]]))
    assert caught.value.problem == "The course's format is for its own tasks; task 'mine' is none of them."


def test_columns_of_the_users_that_are_called_like_ours_keep_their_names(tmp_path: Path) -> None:
    task = Task("x", Path(), kind="classify", text=("id", "prediction"), label="p_no", labels=("no", "yes"))
    dataset = dataset_of(["first"], ["second"], labels=[1])
    write_predictions(tmp_path / "a.jsonl", task, dataset, np.array([[0.25, 0.75]], dtype=np.float32))
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        "id_": "id0", "id": "first", "prediction": "second", "p_no": "yes",
        "prediction_": "yes", "probability": 0.75, "p_no_": 0.25, "p_yes": 0.75,
    }  # fmt: skip
