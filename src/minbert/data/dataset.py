"""csv, tsv, jsonl, parquet (each .gz too) -> Examples, and a list of what could not be read.

A bad row never disappears: it is either an Example, a skipped row of a task that allows missing fields,
or a Reject with file, line and reason.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from minbert.config.task import Label, Task, label_key
from minbert.data.readers import is_unicode, read_columns
from minbert.errors import UserError, short_path

NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")
In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class RejectedRow:
    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{short_path(self.path)}:{self.line}: {self.reason}"


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


class Missing(ValueError):
    """A field that is not there, as opposed to one that is wrong."""


class BadRows(UserError):
    """Rows that could not be read; the error shows the first of them, `rejects` has all."""

    def __init__(self, rejects: Sequence[RejectedRow], most: int = 15) -> None:
        lines = [str(reject) for reject in rejects[:most]]
        if len(rejects) > most:
            lines.append(f"... and {len(rejects) - most} more bad rows; `minbert check` lists them all.")
        super().__init__("\n".join(lines), "Mend these rows, or leave them out with --skip-bad-rows.")
        self.rejects = list(rejects)


def read_dataset(path: Path, task: Task, *, labelled: bool = True, skip_bad_rows: bool = False) -> Dataset:
    """All rows of a file. Bad rows stop the reading with a list of them, or are skipped and counted."""
    examples, rejects = read_rows(path, task, labelled=labelled)
    if rejects and not skip_bad_rows:
        raise BadRows(rejects)
    examples.skipped = sorted(examples.skipped + rejects, key=lambda reject: reject.line)
    if not len(examples):
        raise UserError(f"{path}: no usable rows.", "A data file needs a header line and at least one row.")
    return examples


def read_rows(path: Path, task: Task, *, labelled: bool = True) -> tuple[Dataset, list[RejectedRow]]:
    """Every row as an example or a reject."""
    columns = [*task.text, *([task.label] if labelled else [])]
    answer = LabelReader(task)
    texts: tuple[list[str], ...] = tuple([] for _ in task.text)
    labels: list[float] = []
    ids: list[str] = []
    lines: list[int] = []
    rejects: list[RejectedRow] = []
    skipped: list[RejectedRow] = []
    for line, values in read_columns(path, columns, task.id, task.delimiter):
        try:
            row, identity = row_of(line, values, task.text, task.id)
            if labelled:
                labels.append(answer(values[len(task.text)]))
        except Missing as reason:
            (skipped if task.missing == "skip" else rejects).append(RejectedRow(path, line, str(reason)))
            continue
        except ValueError as reason:
            rejects.append(RejectedRow(path, line, str(reason)))
            continue
        for column, text in zip(texts, row, strict=True):
            column.append(text)
        ids.append(identity)
        lines.append(line)
    kind = np.int64 if task.kind == "classify" else np.float64
    array = np.array(labels, dtype=kind) if labelled else None
    return Dataset(texts, array, ids, lines, path, skipped), rejects


def row_of(line: int, values: list[Any] | str, columns: Sequence[str], id_column: str) -> tuple[list[str], str]:
    """The texts and the id of a row as `read_columns` gives it; ValueError says what is wrong with it."""
    if isinstance(values, str):
        raise ValueError(values)
    texts = [text_of(value, name) for value, name in zip(values, columns, strict=False)]
    identity = str(line) if values[-1] in (None, "") else str(values[-1])
    if not is_unicode(identity):
        raise ValueError(f"'{id_column}' is not valid UTF-8")
    return texts, identity


def text_of(value: object, column: str) -> str:
    if is_missing(value):
        raise Missing(f"'{column}' is empty")
    if not isinstance(value, str):
        raise ValueError(f"'{column}' is not text: {value!r:.80}")
    if "\x00" in value:
        raise ValueError(f"'{column}' has a NUL character")
    if not is_unicode(value):
        raise ValueError(f"'{column}' is not valid UTF-8")
    return value


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


class LabelReader:
    """A value of the label column -> class number or score; ValueError says why not."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.number = {key: i for i, key in enumerate(task.label_keys)}

    def __call__(self, value: object) -> float:
        column = self.task.label
        if is_missing(value):
            raise Missing(f"'{column}' is empty")
        if self.task.kind == "classify":
            key = label_key(value)
            if key not in self.number:
                known = ", ".join(self.number)
                raise ValueError(f"'{column}' is {value!r:.80}, not one of the labels {known:.200}")
            return self.number[key]
        low, high = self.task.range
        try:
            score = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if math.isnan(score):
            raise ValueError(f"'{column}' is {value!r:.80}, not a number")
        if not low <= score <= high:
            raise ValueError(f"'{column}' is {score}, outside the range {low:g} to {high:g}")
        return score


def infer_labels(path: Path, task: Task, most: int = 500) -> tuple[Label, ...]:
    """The labels of a classify task that does not list them: every value in the column, sorted."""
    seen = set()
    for _, values in read_columns(path, [task.label], task.id, task.delimiter):
        # rows that `read_rows` will refuse make no labels
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


# ---- a task's files -----------------------------------------------------------------------------------


def locate(task: Task, part: str, data_root: Path | None) -> Path:
    """The task's file for train, dev or test: below the data root, else beside the task's own file."""
    name: str | None = getattr(task.files, part)
    if name is None:
        raise UserError(
            f"Task '{task.name}' names no {part} file.",
            f"Add '{part} = \"...\"' under [files] in its task file.",
        )
    places = [root / name for root in (data_root, task.folder) if root is not None]
    for place in places:
        if place.is_file():
            return place
    looked = " nor ".join(str(place) for place in places)
    raise UserError(
        f"Task '{task.name}': its {part} file is missing: there is no {looked}.",
        "Say where the data is with --data-root FOLDER or the variable MINBERT_DATA.",
    )


def read_split(task: Task, data_root: Path | None, *, skip_bad_rows: bool = False) -> tuple[Task, Dataset, Dataset]:
    """The task (its labels known) with its training and dev rows."""
    path = locate(task, "train", data_root)
    if task.kind == "classify" and not task.labels:
        task = task.with_labels(infer_labels(path, task))
    if task.files.dev is not None:
        paths = (path, locate(task, "dev", data_root))
        train, dev = read_all(lambda path: read_dataset(path, task, skip_bad_rows=skip_bad_rows), paths)
        return task, train, dev
    train = read_dataset(path, task, skip_bad_rows=skip_bad_rows)
    held = np.array([in_dev_split(texts, task.dev_split) for texts in zip(*train.texts, strict=True)])
    dev = train.take(np.flatnonzero(held))
    rest = train.take(np.flatnonzero(~held))
    dev.skipped = []  # they are counted with the training rows
    if not len(dev) or not len(rest):
        raise UserError(
            f"{path}: too few rows ({len(train)}) to set a share of {task.dev_split:g} aside for measuring.",
            f"Give task '{task.name}' a dev file, or more rows.",
        )
    return task, rest, dev


def read_all(read: Callable[[In], Out], sources: Iterable[In]) -> list[Out]:
    """Read all sources, then complain of the bad rows of all of them at once."""
    found, rejects = [], []
    for source in sources:
        try:
            found.append(read(source))
        except BadRows as bad:
            rejects += bad.rejects
    if rejects:
        raise BadRows(rejects)
    return found


def in_dev_split(texts: tuple[str, ...], share: float) -> bool:
    """Whether an example belongs to the dev part that is split off a training file.

    Decided by the text itself: adding rows moves no old one, and copies of a row stay on one side.
    """
    digest = hashlib.sha256("\x1f".join(example_key(texts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def example_key(texts: Iterable[str]) -> tuple[str, ...]:
    """Equal for examples that are the same: (a, b) and (b, a) are the same pair."""
    return tuple(sorted(normalized_text(text) for text in texts))


def example_keys(texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Each row of one or two columns of texts, without case, punctuation and the order of a pair."""
    return [example_key(row) for row in zip(*texts, strict=True)]


def normalized_text(text: str) -> str:
    """A text without case, punctuation and spacing: what counts as the same sentence."""
    text = text.casefold()
    if text.isascii():
        return NEITHER_LETTER_NOR_DIGIT.sub(" ", text).strip() or text.strip()
    # marks belong to the letters before them: without its vowel signs, Hindi is another text
    letters = "".join(" " if unicodedata.category(c)[0] in "PSZC" else c for c in text)
    return " ".join(letters.split()) or text.strip()


def balanced_weights(labels: npt.NDArray[Any], classes: int) -> tuple[float, ...]:
    """Weights that make every class count the same: N / (classes x count)."""
    counts = np.bincount(labels, minlength=classes)
    return tuple(float(len(labels) / (classes * count)) if count else 0.0 for count in counts)
