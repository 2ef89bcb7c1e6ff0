"""(run, task) -> the dev rows of a run and its answers to them, read back from predictions/TASK-dev.csv.

N rows, C classes.
"""

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert.config.task import Task, label_key, read_task
from minbert.data.metrics import Array
from minbert.data.readers import is_unicode
from minbert.errors import UserError

# half of the last digit that probabilities are written with: 0.000000 in the file is not impossible
LEAST = 5e-7


@dataclass(frozen=True)
class DevPredictions:
    task: Task
    ids: list[str]
    texts: tuple[list[str], ...]
    # class numbers or scores, N
    labels: Array
    # probabilities N x C, or scores N
    answers: Array


def read_dev_predictions(run: Path, name: str) -> DevPredictions:
    """What a run answered to the dev rows of one of its tasks; scores recomputed from it are the run's own."""
    path, settings = run / "predictions" / f"{name}-dev.csv", run / "tasks" / f"{name}.toml"
    if not settings.is_file():
        raise UserError(f"{run}: has no task '{name}': there is no {settings}.", "Name the folder of a finished run.")
    if not path.is_file():
        raise UserError(f"{path}: no such file, so the run's answers are not known.", train_again(run))
    task = read_task(name, str(settings.resolve()))
    header = check_header(path, task, train_again(run))
    columns = read_prediction_table(path, task, header, train_again(run))
    first = 1 + len(task.text)
    labels = (
        class_numbers(path, task, columns[first], train_again(run))
        if task.kind == "classify"
        else columns[first].to_numpy()
    )
    if task.kind == "score":
        answers = columns[first + 1].to_numpy()
    else:
        chosen_N = class_numbers(path, task, columns[first + 1], train_again(run))
        answers = as_chosen(np.stack([column.to_numpy() for column in columns[first + 3 :]], axis=1), chosen_N)
    unusable = ~np.isfinite(answers.reshape(len(labels), -1)).all(1) | ~np.isfinite(labels)
    if unusable.any():
        row = int(unusable.argmax()) + 1
        raise UserError(f"{path}: row {row}: the answer or the label is not a number.", train_again(run))
    ids, *texts = (column.to_pylist() for column in columns[:first])
    return DevPredictions(task, ids, tuple(texts), labels, answers)


def train_again(run: Path) -> str:
    return f"Train it again: minbert train {run / 'recipe.toml'} --out {run} --force"


def check_header(path: Path, task: Task, mend: str) -> list[str]:
    """The names of the columns: those that `answers.py` writes for this task, in its order."""
    with path.open("rb") as file:
        file.seek(-min(1, path.stat().st_size), os.SEEK_END)
        if file.read() != b"\n":
            raise UserError(f"{path}: not whole: its last line has no end.", mend)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as lines:
        header = next(csv.reader(lines))
    own = ["prediction"]
    if task.kind == "classify":
        own += ["probability", *(f"p_{key}" for key in task.label_keys)]
    wanted = ["id", *task.text, task.label, *own]
    users = range(1, len(task.text) + 2)
    # where the user's columns have taken one of our names, it has a _ behind it
    matches = [
        found == name if i in users else found.rstrip("_") == name.rstrip("_")
        for i, (found, name) in enumerate(zip(header, wanted, strict=False))
    ]
    if len(header) != len(wanted) or not all(matches):
        found = ", ".join(name if is_unicode(name) else "?" for name in header)
        raise UserError(f"{path}: has the columns {found:.300}; task '{task.name}' has {', '.join(wanted):.300}.", mend)
    return header


def read_prediction_table(path: Path, task: Task, header: list[str], mend: str) -> list[Any]:
    """The columns in their order: texts, and numbers where numbers are due."""
    import pyarrow
    from pyarrow import csv as arrow

    # of a classify task, the label and the prediction are labels; all that follows is numbers
    numbers = header[len(task.text) + (3 if task.kind == "classify" else 1) :]
    types = {name: pyarrow.float64() if name in numbers else pyarrow.string() for name in header}
    try:
        table = arrow.read_csv(
            path,
            # in one thread: only so are rows counted in messages
            read_options=arrow.ReadOptions(use_threads=False),
            parse_options=arrow.ParseOptions(newlines_in_values=True),
            convert_options=arrow.ConvertOptions(column_types=types),
        )
    except (pyarrow.ArrowInvalid, UnicodeDecodeError) as wrong:
        raise UserError(f"{path}: not whole: {wrong!s:.300}", mend) from None
    if not table.num_rows:
        raise UserError(f"{path}: has no rows.", mend)
    return list(table.columns)


def class_numbers(path: Path, task: Task, column: Any, mend: str) -> Array:
    """Labels as the file spells them -> class numbers."""
    coded = column.combine_chunks().dictionary_encode()
    number = {key: i for i, key in enumerate(task.label_keys)}
    spelled = coded.dictionary.to_pylist()
    unknown = [word for word in spelled if label_key(word) not in number]
    if unknown:
        raise UserError(f"{path}: {unknown[0]!r:.80} is not a label of task '{task.name}'.", mend)
    found: Array = np.array([number[label_key(word)] for word in spelled])[coded.indices.to_numpy()]
    return found


def as_chosen(rounded_NC: Array, chosen_N: Array) -> Array:
    """Probabilities whose highest is the run's answer, though two of them may be equal once they are rounded."""
    answers_NC = np.maximum(rounded_NC, LEAST)
    other_N = np.flatnonzero(answers_NC.argmax(1) != chosen_N)
    answers_NC[other_N, chosen_N[other_N]] = answers_NC[other_N].max(1) + LEAST
    return answers_NC
