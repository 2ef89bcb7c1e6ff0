"""The label column of a file -> class numbers or scores."""

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task, label_key
from minbert.data.rejects import MissingValue, is_missing
from minbert.errors import cut_text, short_repr

DECIMAL_COMMA = re.compile(r"[+-]?(0,\d+|\d+,(\d{1,2}|\d{4,}))")
# 1,000 may be a thousand or 1.000
THOUSANDS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


class LabelReader:
    """A value of the label column -> class number or score; ValueError says what is wrong with it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.number = {key: i for i, key in enumerate(task.label_keys)}
        values = [as_number(key) for key in task.label_keys]
        once = {value for value, labels in Counter(values).items() if labels == 1}
        # programs write 01 as 1, and 0.5 as 0.50: the same label, unless another one is that number too
        self.by_value = {value: i for i, value in enumerate(values) if value is not None and value in once}
        self.na_values = {label_key(value).lower() for value in task.na_values}

    def __call__(self, value: object) -> float:
        if is_missing(value):
            raise MissingValue(f"'{self.task.label}' is empty")
        if self.na_values and label_key(value).lower() in self.na_values:
            raise MissingValue(f"'{self.task.label}' is {str(value).strip()}")
        if isinstance(value, float) and math.isnan(value):
            raise MissingValue(f"'{self.task.label}' is nan, not a {'label' if self.number else 'number'}")
        return self.class_number(value) if self.task.kind == "classify" else self.score(value)

    def class_number(self, value: object) -> int:
        if isinstance(value, list):
            raise ValueError(f"'{self.task.label}' is a list of labels, {short_repr(value)}: a row has one")
        number = as_number(value)
        found = self.number.get(label_key(value), None if number is None else self.by_value.get(number))
        if found is None:
            known = ", ".join(self.task.label_texts)
            raise ValueError(
                f"'{self.task.label}' is {short_repr(value)}, not one of the labels {cut_text(known, 200)}"
            )
        return found

    def score(self, value: object) -> float:
        low, high = self.task.range
        score = as_float(value)
        if math.isnan(score):
            unclear = isinstance(value, str) and THOUSANDS_COMMA.fullmatch(value.strip())
            why = "which may be a thousand or a decimal comma" if unclear else "not a number"
            raise ValueError(f"'{self.task.label}' is {short_repr(value)}, {why}")
        if not low <= score <= high:
            raise ValueError(f"'{self.task.label}' is {score}, outside the range {low:g} to {high:g}")
        return score


def as_float(value: object) -> float:
    """A score as a file writes it; nan if it is no number. 3,5 is read like 3.5, but not 1,000, which is a thousand."""
    if isinstance(value, str):
        if DECIMAL_COMMA.fullmatch(value.strip()):
            value = value.replace(",", ".")
        elif "_" in value:
            # Python reads 1_2 as 12
            return math.nan
    try:
        return math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def as_number(value: object) -> float | None:
    """A finite number as a file writes it, or None."""
    number = as_float(value)
    return number if math.isfinite(number) else None


def balanced_weights(labels: npt.NDArray[Any], classes: int) -> tuple[float, ...]:
    """Weights that make every class count the same: N / (classes x count)."""
    counts = np.bincount(labels, minlength=classes)
    return tuple(float(len(labels) / (classes * count)) if count else 0.0 for count in counts)
