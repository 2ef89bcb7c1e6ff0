"""The label column of a file -> class numbers or scores."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Label, Task, label_key
from minbert.data.readers import is_unicode, read_columns
from minbert.data.rejects import MissingValue, is_missing
from minbert.errors import UserError


class LabelReader:
    """A value of the label column -> class number or score; ValueError says what is wrong with it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.number = {key: i for i, key in enumerate(task.label_keys)}

    def __call__(self, value: object) -> float:
        if is_missing(value):
            raise MissingValue(f"'{self.task.label}' is empty")
        return self.class_number(value) if self.task.kind == "classify" else self.score(value)

    def class_number(self, value: object) -> int:
        key = label_key(value)
        if key not in self.number:
            known = ", ".join(self.number)
            raise ValueError(f"'{self.task.label}' is {value!r:.80}, not one of the labels {known:.200}")
        return self.number[key]

    def score(self, value: object) -> float:
        low, high = self.task.range
        try:
            score = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if math.isnan(score):
            raise ValueError(f"'{self.task.label}' is {value!r:.80}, not a number")
        if not low <= score <= high:
            raise ValueError(f"'{self.task.label}' is {score}, outside the range {low:g} to {high:g}")
        return score


def infer_labels(path: Path, task: Task, most: int = 500) -> tuple[Label, ...]:
    """The labels of a classify task that does not list them: every value in the column, sorted."""
    seen = set()
    for _, values in read_columns(path, [task.label], task.id, task.delimiter):
        # values of rows that will be rejected are not labels
        if isinstance(values, str) or is_missing(values[0]) or isinstance(values[0], list | dict):
            continue
        key = label_key(values[0])
        if is_unicode(key) and values[0] == values[0]:
            seen.add(key)
    if not 2 <= len(seen) <= most:
        raise UserError(
            f"{path}: column '{task.label}' has {len(seen)} different values; a classify task needs 2 to {most}.",
            f"Check 'label' of task '{task.name}', or list its 'labels'.",
        )
    try:
        return tuple(sorted(seen, key=float))
    except ValueError:
        return tuple(sorted(seen))


def balanced_weights(labels: npt.NDArray[Any], classes: int) -> tuple[float, ...]:
    """Weights that make every class count the same: N / (classes x count)."""
    counts = np.bincount(labels, minlength=classes)
    return tuple(float(len(labels) / (classes * count)) if count else 0.0 for count in counts)
