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
    """The user's columns by their own names; ours beside them, with a _ where a name is taken."""
    users: dict[str, list[Any]] = dict(zip(task.text, examples.texts, strict=True))
    labels = examples.labels
    keys = task.label_keys
    if labels is not None:
        users[task.label] = labels.tolist() if task.kind == "score" else [keys[label] for label in labels]
    ours: dict[str, list[Any]] = {}
    if task.kind == "score":
        ours["prediction"] = [round(float(score), 4) for score in answers]
    else:
        ours["prediction"] = [keys[i] for i in answers.argmax(1)]
        ours["probability"] = [round(float(p), 6) for p in answers.max(1)]
        ours |= {f"p_{key}": [round(float(p), 6) for p in answers[:, i]] for i, key in enumerate(keys)}

    def free(name: str) -> str:
        return free(f"{name}_") if name in users else name

    return {free("id"): examples.ids, **users, **{free(name): values for name, values in ours.items()}}


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
