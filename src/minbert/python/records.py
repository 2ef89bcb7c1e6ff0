"""Rows in memory (DataFrame, Dataset, Arrow table, list of dicts or tuples) -> lines of JSON, and what else is known
about the rows: the order of labels, and their types."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from minbert.config.task import Label, label_key
from minbert.data.memory_tables import column_names, declared_labels, first_repeated, plain_table, plain_value
from minbert.errors import UserError, short_repr

HOW_TO_GIVE_ROWS = (
    "Give a pandas or polars DataFrame, a Dataset, a path, or a list of dicts: "
    '[{"text": "A fine film.", "label": "good"}, ...].'
)
# the columns of rows that are tuples
TUPLE_NAMES = {2: ("text", "label"), 3: ("text1", "text2", "label")}
# different values that are remembered; a column with more holds no labels
MOST_REMEMBERED = 1000


@dataclass
class WrittenRows:
    """What the file of some rows does not say."""

    # the values of columns that declare them, in order
    declared: dict[str, tuple[Label, ...]] = field(default_factory=dict)
    # each value of a column as it was given; None: too many
    values: dict[str, dict[tuple[type, Label], None] | None] = field(default_factory=dict)
    # whether the rows are tuples, and of how many values
    tuples: int = 0

    def remember(self, row: Mapping[str, Any]) -> None:
        for column, value in row.items():
            seen = self.values.setdefault(column, {})
            if seen is None or value is None:
                continue
            if isinstance(value, str | int | float) and len(seen) < MOST_REMEMBERED:
                # 1, True and 1.0 are equal, and different labels
                seen[type(value), value] = None
            else:
                self.values[column] = None

    def labels(self, column: str) -> dict[str, Label]:
        """The values of a column by their keys."""
        found: dict[str, Label] = {}
        for _, value in self.values.get(column) or ():
            found.setdefault(label_key(value), value)
        return found


def write_rows(path: Path, rows: Any, where: str, tuple_names: Sequence[str] = ()) -> WrittenRows:
    """One JSON object per row. `tuple_names`: the columns of rows that are tuples, if they are known."""
    table = plain_table(rows)
    written, number = WrittenRows(declared_labels(table)), -1
    names = {len(tuple_names): tuple(tuple_names)} if tuple_names else TUPLE_NAMES
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number, row in enumerate(records_of(table, where)):
            record = as_record(row, f"{where}, row {number}", names)
            written.remember(record)
            if not number and not isinstance(row, Mapping) and not hasattr(row, "_asdict"):
                written.tuples = len(record)
            file.write(json.dumps(record, default=plain_value) + "\n")
    if number < 0:
        raise UserError(f"{where}: there are no rows.", HOW_TO_GIVE_ROWS)
    return written


def records_of(rows: Any, where: str) -> Iterable[Any]:
    repeated = first_repeated(map(str, column_names(rows) or ()))
    if repeated is not None:
        raise UserError(f"{where}: two columns are called '{repeated}'.", "Rename one of them.")
    if hasattr(rows, "features") and not isinstance(rows, type):
        return named_classes(rows)
    # polars, Arrow
    for method in ("to_dicts", "to_pylist"):
        if hasattr(rows, method):
            return getattr(rows, method)()  # type: ignore[no-any-return]
    # pandas
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        return rows.to_dict("records")  # type: ignore[no-any-return]
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        kind = "None" if rows is None else f"a value of type {type(rows).__name__}"
        raise UserError(f"{where}: {kind} is no table of rows.", HOW_TO_GIVE_ROWS)
    return rows


def named_classes(rows: Any) -> Iterator[dict[str, Any]]:
    """The rows of a Hugging Face Dataset, with the names of its classes instead of their numbers."""
    names = {column: feature.names for column, feature in (rows.features or {}).items() if hasattr(feature, "int2str")}
    for row in rows:
        yield {**row, **{column: class_name(row[column], known) for column, known in names.items()}}


def class_name(number: int | None, names: list[str]) -> str | None:
    # -1: a test set without labels
    return None if number is None or number < 0 else names[number]


def as_record(row: Any, where: str, tuple_names: Mapping[int, tuple[str, ...]]) -> dict[str, Any]:
    if hasattr(row, "_asdict"):
        row = row._asdict()
    if isinstance(row, list | tuple | np.ndarray) and len(row) in tuple_names:
        row = dict(zip(tuple_names[len(row)], row, strict=True))
    if not isinstance(row, Mapping):
        raise UserError(
            f"{where}: {short_repr(row)} is no row: it names no columns.",
            "With texts and labels in two lists, give list(zip(texts, labels)). " + HOW_TO_GIVE_ROWS
            if isinstance(row, str)
            else HOW_TO_GIVE_ROWS,
        )
    return {str(column): plain_value(value) for column, value in row.items()}
