"""Rows in memory (DataFrame, Dataset, Arrow table, list of dicts or tuples) -> lines of JSON.

No library of data frames is imported: what is given is recognized by its methods.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from minbert.errors import UserError

HOW_TO_GIVE_ROWS = (
    "Give a pandas or polars DataFrame, a Dataset, a path, or a list of dicts: "
    '[{"text": "A fine film.", "label": "good"}, ...].'
)
# the columns of rows that are tuples
TUPLE_NAMES = {2: ("text", "label"), 3: ("text1", "text2", "label")}
# missing values of pandas that are no floats
MISSING_TYPES = ("NAType", "NaTType")


def write_rows(path: Path, rows: Any, where: str) -> None:
    """One JSON object per row."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for count, row in enumerate(records_of(rows, where), 1):
            file.write(json.dumps(as_record(row, f"{where}, row {count}"), default=plain_value) + "\n")
    if not count:
        raise UserError(f"{where}: there are no rows.", HOW_TO_GIVE_ROWS)


def records_of(rows: Any, where: str) -> Iterable[Any]:
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
        raise UserError(f"{where}: a {type(rows).__name__} is no table of rows.", HOW_TO_GIVE_ROWS)
    return rows


def named_classes(rows: Any) -> Iterator[dict[str, Any]]:
    """The rows of a Hugging Face Dataset, with the names of its classes instead of their numbers."""
    names = {column: feature.names for column, feature in (rows.features or {}).items() if hasattr(feature, "int2str")}
    for row in rows:
        yield {**row, **{column: class_name(row[column], known) for column, known in names.items()}}


def class_name(number: int | None, names: list[str]) -> str | None:
    # -1: a test set without labels
    return None if number is None or number < 0 else names[number]


def as_record(row: Any, where: str) -> dict[str, Any]:
    if hasattr(row, "_asdict"):
        row = row._asdict()
    if isinstance(row, list | tuple) and len(row) in TUPLE_NAMES:
        row = dict(zip(TUPLE_NAMES[len(row)], row, strict=True))
    if not isinstance(row, Mapping):
        raise UserError(f"{where}: {row!r:.80} is no row: it names no columns.", HOW_TO_GIVE_ROWS)
    return {str(column): plain_value(value) for column, value in row.items()}


def plain_value(value: Any) -> Any:
    """A value as JSON can write it; values that are missing are null."""
    if value is None or type(value).__name__ in MISSING_TYPES:
        return None
    if isinstance(value, float):
        return value if value == value else None
    if isinstance(value, str | int | list | tuple | dict):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):
        # NumPy's numbers and arrays
        return plain_value(value.tolist())
    return str(value)
