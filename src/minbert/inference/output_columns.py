"""Rows and their predictions -> the columns of an output file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import predicted_classes
from minbert.inference.task_predictions import TaskPredictions

DIGITS = 6


@dataclass(frozen=True)
class OutputColumn:
    name: str
    kind: Literal["text", "number", "truth"]
    values: Sequence[Any]


def prediction_columns(
    text_names: Sequence[str], dataset: Dataset, predictions: Sequence[TaskPredictions]
) -> list[OutputColumn]:
    """The id, the user's columns under their own names, and those of the predictions.

    A name that the user has taken gets a _. With several tasks, each task's columns begin with its name.
    """
    users = [OutputColumn(name, "text", texts) for name, texts in zip(text_names, dataset.texts, strict=True)]
    if dataset.labels is not None:
        users += [label_column(each.task, dataset.labels) for each in predictions]
    taken = {column.name for column in users}

    def free(name: str) -> str:
        return free(f"{name}_") if name in taken else name

    predicted: list[OutputColumn] = []
    for each in predictions:
        prefix = f"{each.task.name}." if len(predictions) > 1 else ""
        predicted += (replace(column, name=free(prefix + column.name)) for column in task_columns(each))
    return [OutputColumn(free("id"), "text", dataset.ids), *users, *predicted]


def label_column(task: Task, labels: npt.NDArray[Any]) -> OutputColumn:
    if task.kind == "score":
        return OutputColumn(task.label, "number", labels.tolist())
    return OutputColumn(task.label, "text", [task.label_texts[label] for label in labels])


def task_columns(predictions: TaskPredictions) -> Iterator[OutputColumn]:
    """prediction, probability, p_LABEL for each label, truncated."""
    task, values = predictions.task, predictions.values.astype(np.float64)
    rounded = np.round(values, DIGITS)
    if task.kind == "score":
        yield OutputColumn("prediction", "number", rounded.tolist())
    else:
        names = task.label_texts
        yield OutputColumn("prediction", "text", [names[i] for i in predicted_classes(values, task.threshold)])
        yield OutputColumn("probability", "number", rounded.max(1).tolist())
        for i, name in enumerate(names):
            yield OutputColumn(f"p_{name}", "number", rounded[:, i].tolist())
    if predictions.truncated is not None:
        yield OutputColumn("truncated", "truth", predictions.truncated.tolist())
