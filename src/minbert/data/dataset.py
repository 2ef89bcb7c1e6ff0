"""csv, tsv, jsonl, parquet (each .gz too) -> Dataset, and a list of the rows that could not be read.

A bad row never disappears: it is in the Dataset, or a skipped row of a task that allows missing fields,
or a RejectedRow with file, line and reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.labels import LabelReader
from minbert.data.readers import read_columns
from minbert.data.rejects import BadRows, MissingValue, RejectedRow, count_reasons, is_missing
from minbert.data.text_format import NOT_UTF8, is_unicode, not_utf8
from minbert.errors import UserError, short_repr


@dataclass
class Dataset:
    """The rows of one file, column by column."""

    texts: tuple[list[str], ...]
    labels: npt.NDArray[Any] | None
    ids: list[str]
    lines: list[int]
    path: Path
    skipped: list[RejectedRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | npt.NDArray[np.int64]) -> "Dataset":
        return Dataset(
            tuple([column[i] for i in rows] for column in self.texts),
            None if self.labels is None else self.labels[np.asarray(rows, dtype=np.int64)],
            [self.ids[i] for i in rows],
            [self.lines[i] for i in rows],
            self.path,
            self.skipped,
        )


def read_dataset(path: Path, task: Task, *, labeled: bool = True, skip_bad_rows: bool = False) -> Dataset:
    """All rows of a file. Bad rows are an error that lists them, or are skipped and counted."""
    dataset, rejects = read_rows(path, task, labeled=labeled)
    if rejects and not skip_bad_rows:
        check_encoding(path, rejects, len(dataset) + len(rejects))
        raise BadRows(rejects)
    dataset.skipped = sorted(dataset.skipped + rejects, key=lambda reject: reject.line)
    if not len(dataset):
        raise no_usable_rows(path, task, dataset.skipped)
    return dataset


def check_encoding(path: Path, rejects: Sequence[RejectedRow], rows: int) -> None:
    """UserError if most rows are in another encoding: then the file is wrong, not its rows."""
    other = sum(NOT_UTF8 in reject.reason for reject in rejects)
    if 2 * other > rows:
        raise not_utf8(path, other, rows)


def no_usable_rows(path: Path, task: Task, skipped: Sequence[RejectedRow]) -> UserError:
    if not skipped:
        return UserError(f"{path}: no usable rows.", "A data file needs a header line and at least one row.")
    (reason, rows), *others = count_reasons(skipped).items()
    more = f", and {len(skipped) - rows:,} for other reasons" if others else ""
    columns = "' and '".join((*task.text, task.label))
    return UserError(
        f"{path}: no usable rows: in {rows:,} of {len(skipped):,} rows, {reason}{more}.",
        f"Fill the columns '{columns}' as task '{task.name}' needs them, or name another file.",
    )


def read_rows(path: Path, task: Task, *, labeled: bool = True) -> tuple[Dataset, list[RejectedRow]]:
    """Every row, in the dataset or among the rejects."""
    columns = [*task.text, *([task.label] if labeled else [])]
    read_label = LabelReader(task)
    dataset = Dataset(tuple([] for _ in task.text), None, [], [], path)
    labels: list[float] = []
    rejects: list[RejectedRow] = []
    for line, values in read_columns(path, columns, task.id, task.delimiter):
        try:
            texts, identity = row_of(line, values, task.text, task.id)
            if labeled:
                labels.append(read_label(values[len(task.text)]))
        except ValueError as reason:
            allowed = isinstance(reason, MissingValue) and task.missing == "skip"
            (dataset.skipped if allowed else rejects).append(RejectedRow(path, line, str(reason)))
            continue
        for column, text in zip(dataset.texts, texts, strict=True):
            column.append(text)
        dataset.ids.append(identity)
        dataset.lines.append(line)
    if labeled:
        dataset.labels = np.array(labels, dtype=np.int64 if task.kind == "classify" else np.float64)
    return dataset, rejects


def row_of(line: int, values: list[Any] | str, columns: Sequence[str], id_column: str) -> tuple[list[str], str]:
    """The texts and the id of a row as `read_columns` yields it; ValueError says what is wrong with it."""
    if isinstance(values, str):
        raise ValueError(values)
    texts = [text_of(value, name) for value, name in zip(values, columns, strict=False)]
    identity = str(line) if values[-1] in (None, "") else str(values[-1])
    if not is_unicode(identity):
        raise ValueError(f"'{id_column}' {NOT_UTF8}")
    return texts, identity


def text_of(value: object, column: str) -> str:
    if is_missing(value):
        raise MissingValue(f"'{column}' is empty")
    if not isinstance(value, str):
        raise ValueError(f"'{column}' is not text: {short_repr(value)}")
    if "\x00" in value:
        raise ValueError(f"'{column}' has a NUL character")
    if not is_unicode(value):
        raise ValueError(f"'{column}' {NOT_UTF8}")
    return value
