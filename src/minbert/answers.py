"""Answers -> files people and programs read: csv, tsv, jsonl, parquet, and the course's own format."""

import csv
import gzip
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import numpy.typing as npt

from minbert.columns import format_of
from minbert.errors import UserError
from minbert.table import Examples
from minbert.task import Task

# (kind, text columns, label) of the course's tasks -> the header of its prediction files, spelling included
COURSE_HEADERS = {
    ("classify", ("sentence",), "sentiment"): "Predicted_Sentiment",
    ("classify", ("sentence1", "sentence2"), "is_duplicate"): "Predicted_Is_Paraphrase",
    ("score", ("sentence1", "sentence2"), "similarity"): "Predicted_Similiary",
}


def write_answers(path: Path, task: Task, examples: Examples, answers: npt.NDArray[Any]) -> None:
    """One row an example: id, texts, the label if it is known, the prediction, the probabilities."""
    kind, gzipped = format_of(path)
    columns = answer_columns(task, examples, answers)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        with open_bytes(path, gzipped) as sink:
            pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        return
    with io.TextIOWrapper(open_bytes(path, gzipped), encoding="utf-8", newline="") as file:
        rows = zip(*columns.values(), strict=True)
        if kind == "jsonl":
            for row in rows:
                file.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")
            return
        # csv quotes the characters that it ends lines with: told "\r\n", it quotes a lone "\r" too
        lines = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
        writer = csv.writer(lines, delimiter="\t" if kind == "tsv" else ",", lineterminator="\r\n")
        writer.writerow(columns)
        writer.writerows(rows)


def open_bytes(path: Path, gzipped: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "wb")) if gzipped else path.open("wb")


def answer_columns(task: Task, examples: Examples, answers: npt.NDArray[Any]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {"id": examples.ids}
    columns |= dict(zip(task.text, examples.texts, strict=True))
    if task.kind == "score":
        if examples.labels is not None:
            columns[task.label] = examples.labels.tolist()
        columns["prediction"] = [round(float(score), 4) for score in answers]
        return columns
    keys = task.label_keys
    if examples.labels is not None:
        columns[task.label] = [keys[label] for label in examples.labels]
    best = answers.argmax(1)
    columns["prediction"] = [keys[i] for i in best]
    columns["probability"] = [round(float(p), 6) for p in answers.max(1)]
    for i, key in enumerate(keys):
        columns[f"p_{key}"] = [round(float(p), 6) for p in answers[:, i]]
    return columns


def write_course(path: Path, task: Task, examples: Examples, answers: npt.NDArray[Any]) -> None:
    """The format in which the course's graders read predictions: `id , prediction `."""
    header = COURSE_HEADERS.get((task.kind, task.text, task.label))
    if header is None or task.label_keys != tuple(str(i) for i in range(len(task.labels))):
        raise UserError(
            f"The course's format is for its own tasks; task '{task.name}' is none of them.",
            "Leave --format out: the ending of --output names the format.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    if task.kind == "classify":
        given = [task.label_keys[i] for i in answers.argmax(1)]
        if task.paired:  # a rounded sigmoid there, hence a float
            given = [f"{label}.0" for label in given]
    else:
        given = [str(score) for score in answers]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"id \t {header} \n")
        file.writelines(f"{name} , {label} \n" for name, label in zip(examples.ids, given, strict=True))
