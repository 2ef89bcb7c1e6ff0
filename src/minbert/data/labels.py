"""The label column of a file -> class numbers or scores."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Label, Task, label_key
from minbert.data.readers import read_columns
from minbert.data.rejects import MissingValue, is_missing
from minbert.data.text_format import is_unicode
from minbert.errors import UserError

DECIMAL_COMMA = re.compile(r"[+-]?(0,\d+|\d+,(\d{1,2}|\d{4,}))")


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
        if isinstance(value, list):
            raise ValueError(f"'{self.task.label}' is a list of labels, {value!r:.80}: a row has one")
        key = label_key(value)
        if key not in self.number:
            known = ", ".join(self.number)
            raise ValueError(f"'{self.task.label}' is {value!r:.80}, not one of the labels {known:.200}")
        return self.number[key]

    def score(self, value: object) -> float:
        low, high = self.task.range
        score = as_float(value)
        if math.isnan(score):
            raise ValueError(f"'{self.task.label}' is {value!r:.80}, not a number")
        if not low <= score <= high:
            raise ValueError(f"'{self.task.label}' is {score}, outside the range {low:g} to {high:g}")
        return score


def as_float(value: object) -> float:
    """A score as a file writes it; nan if it is no number. 3,5 is read like 3.5, but not 1,000, which is a thousand."""
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip()):
        value = value.replace(",", ".")
    try:
        return math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def as_number(value: object) -> float | None:
    """A finite number as a file writes it, or None."""
    number = as_float(value)
    return number if math.isfinite(number) else None


def infer_labels(path: Path, task: Task, most: int = 500) -> tuple[Label, ...]:
    """The labels of a classify task that does not list them: every value in the column, sorted."""
    seen, lists = set(), 0
    for _, values in read_columns(path, [task.label], task.id, task.delimiter):
        # values of rows that will be rejected are not labels
        if isinstance(values, str) or is_missing(values[0]) or isinstance(values[0], list | dict):
            lists += not isinstance(values, str) and isinstance(values[0], list)
            continue
        key = label_key(values[0])
        if is_unicode(key) and values[0] == values[0]:
            seen.add(key)
    if lists and len(seen) < 2:
        raise UserError(
            f"{path}: column '{task.label}' holds lists of labels. Several labels in one row are not supported yet.",
            "Write one label per row, or a column of 0 and 1 for each label, and a task for each of these columns.",
        )
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
