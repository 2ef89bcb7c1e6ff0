"""Texts as Python holds them (list, array, Series, DataFrame, Dataset) -> one or two columns of texts.

N rows, K texts per row.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from minbert.data.memory_tables import column_names, column_values, is_null, places_of, plain_table
from minbert.errors import UserError, short_repr

WANTED = {(1,): "one text", (2,): "a pair of texts", (1, 2): "one text or a pair of texts"}


def read_texts(given: Any, reader: str, names: Sequence[str] = (), counts: Collection[int] = (1, 2)) -> list[list[str]]:
    """The texts by column. Of a table, the columns called `names`; or all, if there are as many as are read.

    `reader`: who reads them, for messages; `counts`: how many texts a row may have.
    """
    wanted = f"{reader} reads {WANTED[tuple(counts)]} per row"
    if isinstance(given, str | bytes):
        raise UserError(f"{reader} reads a list of texts, not one text.", "Put it into a list: [text]")
    given = plain_table(given)
    columns = table_texts(given, wanted, names, counts)
    if columns is None:
        columns = row_texts(given, wanted) or [[] for _ in range(min(counts))]
    if len(columns) not in counts:
        raise UserError(f"{wanted}, not {len(columns)}.", "Give a list of texts, or of (text, text) for pairs.")
    return [checked_texts(column, wanted) for column in columns]


def table_texts(given: Any, wanted: str, names: Sequence[str], counts: Collection[int]) -> list[list[Any]] | None:
    """The columns of a table; None if this is none."""
    if isinstance(given, Sequence) and not isinstance(given, str) and given and isinstance(given[0], Mapping):
        # a list of dicts
        given = {name: [row.get(name) for row in given] for name in given[0]}
    known = column_names(given)
    if known is None:
        return None
    places = (places_of(names, known) if names else None) or (range(len(known)) if len(known) in counts else None)
    if places is None:
        pick = [str(name) for name in known[: len(names) or 1]]
        read = f", from the column{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""
        raise UserError(
            f"{wanted}{read}; this table has the columns {', '.join(map(str, known)) or '(none)'}.",
            f"Pick the column{'s' * (len(pick) > 1)} with the texts, for example: df[{as_key(pick)}]"
            if pick
            else "Give a table that has texts.",
        )
    return [column_values(given, place) for place in places]


def as_key(names: Sequence[str]) -> str:
    return f'"{names[0]}"' if len(names) == 1 else "[" + ", ".join(f'"{name}"' for name in names) + "]"


def row_texts(given: Any, wanted: str) -> list[list[Any]]:
    """The columns of rows, if there are any: of texts, or of tuples of texts."""
    if hasattr(given, "toarray") or not hasattr(given, "__iter__"):
        what = "sparse matrix" if hasattr(given, "toarray") else type(given).__name__
        raise UserError(f"{wanted}, not a {what}.", "Give a list, an array, a Series or a DataFrame of texts.")
    # Arrow's arrays hold values of their own type
    rows = given.to_pylist() if hasattr(given, "to_pylist") else given
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.shape[1]:
        return [column.tolist() for column in rows.T]
    if isinstance(rows, np.ndarray) and rows.ndim != 1:
        raise UserError(f"{wanted}; this array has the shape {rows.shape}.", "Give an array of N texts, or N x 2.")
    rows = list(rows)
    if not rows:
        return []
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return [rows]
    if len({len(row) for row in rows}) > 1:
        raise UserError(f"{wanted}; these rows have different lengths.", "Give each row the same number of texts.")
    return [list(column) for column in zip(*rows, strict=True)]


def checked_texts(column: list[Any], wanted: str) -> list[str]:
    for row, text in enumerate(column):
        if not isinstance(text, str):
            how = (
                'Leave out rows without a text, for example: df.dropna(subset="text"), or put "" there.'
                if is_null(text)
                else "Texts are strings: convert other values with str()."
            )
            raise UserError(f"{wanted}; row {row}, counting from 0, is {short_repr(text)}.", how)
    # as Python's own strings, not NumPy's
    return [str(text) for text in column]
