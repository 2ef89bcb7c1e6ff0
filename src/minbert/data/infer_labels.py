"""A training file -> the labels of a classify task that does not list them: every value in usable rows, sorted."""

from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from minbert.config.task import Label, Task, label_key
from minbert.data.dataset import text_of
from minbert.data.label_spellings import LabelSpellings
from minbert.data.labels import as_number
from minbert.data.readers import read_columns
from minbert.data.text_format import is_unicode
from minbert.errors import UserError, cut_text


def infer_labels(path: Path, task: Task, most: int = 500) -> tuple[Label, ...]:
    """The labels as the file writes them."""
    spellings, lists = LabelSpellings(), 0
    # if no row is usable, reading the rows says why
    unusable = LabelSpellings()
    na_values = {"", *(value.strip().lower() for value in task.na_values)}
    for value, usable in label_values(path, task.text, task.label, task.id, task.delimiter):
        if isinstance(value, list | dict):
            lists += isinstance(value, list)
        elif value is not None and value == value and is_label(label_key(value), na_values):
            (spellings if usable else unusable).add(value)
    seen = spellings.texts or unusable.texts
    if lists and len(seen) < 2:
        raise UserError(
            f"{path}: column '{task.label}' holds lists of labels. Several labels in one row are not supported yet.",
            "Write one label per row, or a column of 0 and 1 for each label, and a task for each of these columns.",
        )
    if len(seen) == 1:
        (only,) = seen.values()
        raise UserError(
            f"{path}: column '{task.label}' has only one label: {cut_text(only)}. A classify task needs at least two.",
            f"Add rows with other labels, or check 'label' of task '{task.name}'.",
        )
    if not 2 <= len(seen) <= most:
        raise UserError(
            f"{path}: column '{task.label}' has {len(seen)} different values; a classify task needs 2 to {most}.",
            f"Check 'label' of task '{task.name}', or list its 'labels'.",
        )
    return tuple(seen[key] for key in in_order(seen))


def is_label(key: str, na_values: Container[str]) -> bool:
    return is_unicode(key) and key.lower() not in na_values


def in_order(keys: Iterable[str]) -> list[str]:
    """By number if all of them are numbers, else by the alphabet."""
    labels = sorted(keys)
    numbers = {label: as_number(label) for label in labels}
    return labels if None in numbers.values() else sorted(labels, key=lambda label: numbers[label] or 0.0)


def label_values(
    path: Path, text: Sequence[str], label: str, id_column: str = "", delimiter: str = ""
) -> Iterator[tuple[Any, bool]]:
    """The label of each row that can be read, and whether its texts can be learned from."""
    for _, values in read_columns(path, [*text, label], id_column, delimiter):
        if not isinstance(values, str):
            yield values[len(text)], has_texts(values, text)


def has_texts(values: Sequence[Any], text: Sequence[str]) -> bool:
    try:
        for value, name in zip(values, text, strict=False):
            text_of(value, name)
    except ValueError:
        return False
    return True
