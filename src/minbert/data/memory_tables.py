"""A table in memory (pandas, polars, Arrow, Hugging Face, or a dict of columns) -> its columns.

None of these libraries is imported: what is given is recognized by its methods.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# missing values of pandas that are no floats
MISSING_TYPES = ("NAType", "NaTType")


def plain_table(given: Any) -> Any:
    """The table itself of what stands for one: the result of a polars query, or a Dataset with a format."""
    if hasattr(given, "collect_schema") and hasattr(given, "collect"):
        # polars' LazyFrame
        return given.collect()
    if hasattr(given, "with_format") and hasattr(given, "features"):
        # rows as Python's own values, whatever format the user works with
        return given.with_format(None)
    return given


def column_names(table: Any) -> list[Any] | None:
    """The names of a table's columns in order, as they are; None if this is no table."""
    # Arrow and Dataset before pandas and polars: Arrow's `columns` are the values
    for attribute in ("column_names", "columns"):
        if hasattr(table, attribute):
            names = getattr(table, attribute)
            return None if names is None else list(names)
    return list(table) if isinstance(table, Mapping) else None


def column_values(table: Any, place: int) -> list[Any]:
    """The values of a column, as Python's own values."""
    if hasattr(table, "iloc"):
        # by its place: names may not be unique
        return table.iloc[:, place].tolist()  # type: ignore[no-any-return]
    names = column_names(table)
    assert names is not None
    column = table[names[place]]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def declared_labels(table: Any) -> dict[str, tuple[Any, ...]]:
    """The values that columns may have, of those that declare them in an order: a Dataset's ClassLabel, an ordered
    Categorical of pandas, an Enum of polars."""
    features = getattr(table, "features", None)
    if isinstance(features, Mapping):
        return {name: tuple(each.names) for name, each in features.items() if hasattr(each, "int2str")}
    if hasattr(table, "iloc"):
        types = {str(name): dtype for name, dtype in table.dtypes.items()}
        return {
            name: tuple(plain_value(each) for each in dtype.categories)
            for name, dtype in types.items()
            if getattr(dtype, "ordered", False) and hasattr(dtype, "categories")
        }
    schema = getattr(table, "schema", None)
    if hasattr(table, "to_dicts") and isinstance(schema, Mapping):
        enums = {name: dtype for name, dtype in schema.items() if type(dtype).__name__ == "Enum"}
        return {name: tuple(dtype.categories) for name, dtype in enums.items()}
    return {}


def plain_value(value: Any) -> Any:
    """A value as JSON can write it; values that are missing are None."""
    if is_null(value):
        return None
    if hasattr(value, "tolist"):
        # NumPy's numbers and arrays; some of its numbers are Python's, too
        return plain_value(value.tolist())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float | list | tuple | dict) else str(value)


def is_null(value: Any) -> bool:
    """Whether it stands for a missing value: None, NaN, or pandas' NA and NaT."""
    return value is None or type(value).__name__ in MISSING_TYPES or (isinstance(value, float) and bool(value != value))


def first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def places_of(names: Sequence[str], table_names: Sequence[Any]) -> list[int] | None:
    """Where some columns stand in a table; None if one of them is not there."""
    known = [str(each) for each in table_names]
    return [known.index(name) for name in names] if all(name in known for name in names) else None
