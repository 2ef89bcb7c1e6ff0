"""(a recipe, its data) -> folds of the training rows as files, and the recipe that trains and scores one of them.

Dev rows take no part. A fold's rows are files like any others, so its trials are identified, resumed and stored like
those of a comparison.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from minbert.config.overrides import tasks_as_table
from minbert.config.recipe import Recipe
from minbert.config.task import Files, Task
from minbert.data.dataset import Dataset
from minbert.data.dev_split import without_held_out
from minbert.data.fold_split import assign_folds
from minbert.data.source import DataSource
from minbert.files import write_text
from minbert.training.prepare import read_data


@dataclass(frozen=True)
class Fold:
    """One fold: the settings of each task, with the files of this fold."""

    number: int
    tasks: Mapping[str, Mapping[str, Any]]

    def table_of(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """A recipe's table with the rows of this fold as its data."""
        copy = deepcopy(dict(table))
        plans = tasks_as_table(copy["tasks"])
        copy["tasks"] = {name: {**plan, "task": dict(self.tasks[name])} for name, plan in plans.items()}
        return copy


def make_folds(recipe: Recipe, source: DataSource, folds: int, folder: Path) -> list[Fold]:
    """Write the rows of each fold below `folder`; the same data gives the same files."""
    # a fold's held-out rows choose and score, so validation rows would be held out of nothing
    whole = replace(recipe, selection=replace(recipe.selection, validation_fraction=None))
    data = read_data(whole, source)
    tasks, train = data.tasks, data.train
    fold_of = {name: assign_folds(rows, tasks[name], folds) for name, rows in train.items()}
    return [write_fold(number, tasks, train, fold_of, folder.resolve()) for number in range(folds)]


def write_fold(
    number: int,
    tasks: Mapping[str, Task],
    train: Mapping[str, Dataset],
    fold_of: Mapping[str, np.typing.NDArray[np.int64]],
    folder: Path,
) -> Fold:
    held_out = {name: rows.take(np.flatnonzero(fold_of[name] == number)) for name, rows in train.items()}
    others = {name: rows.take(np.flatnonzero(fold_of[name] != number)) for name, rows in train.items()}
    # tasks may read the same texts: what one of them holds out, none of them trains on
    split = {name: replace(task, files=Files(train=task.files.train)) for name, task in tasks.items()}
    others = without_held_out(split, others, held_out)
    settings = {}
    for name, task in tasks.items():
        files = {
            role: str(write_rows_of(rows[name], task, folder / f"fold{number + 1}" / f"{name}-{role}.jsonl"))
            for role, rows in (("train", others), ("dev", held_out))
        }
        kept = {key: value for key, value in task.as_settings().items() if key not in ("delimiter", "dev_split")}
        settings[name] = {**kept, "files": files}
    return Fold(number, settings)


def write_rows_of(rows: Dataset, task: Task, path: Path) -> Path:
    """The rows as JSON lines in the columns of the task."""
    assert rows.labels is not None
    values: Sequence[Any] = rows.labels.tolist()
    labels = [task.labels[value] for value in values] if task.kind == "classify" else values
    lines = []
    for i, (*texts, label) in enumerate(zip(*rows.texts, labels, strict=True)):
        row = {task.id: rows.ids[i]} | dict(zip(task.text, texts, strict=True)) | {task.label: label}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    content = "".join(lines)
    # an unchanged file stays as it is: trials that still run may read it
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, content)
    return path
