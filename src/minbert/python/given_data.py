"""What `minbert.train` is given -> the rows of each task by their role: train, dev and test."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.config.recipe import RESERVED_NAMES
from minbert.data.file_groups import ROLES
from minbert.data.memory_tables import column_names
from minbert.data.source import SplitName
from minbert.errors import UserError
from minbert.python.records import HOW_TO_GIVE_ROWS

TUPLE_ROLES: tuple[SplitName, ...] = ("train", "dev", "test")


def named_data(data: Any) -> dict[str, dict[SplitName, Any]]:
    """The data of each name, by its role; "" has no name."""
    if data is None or (isinstance(data, Mapping) and not data):
        raise UserError("No data is given.", 'For example: minbert.train({"stars": df}, out="runs/stars")')
    if isinstance(data, Mapping) and "train" not in data:
        refuse_names(data)
        return {str(name): splits_of(each, str(name)) for name, each in data.items()}
    return {"": splits_of(data, "the data")}


def refuse_names(names: Iterable[Any]) -> None:
    for name in map(str, names):
        if not name.strip():
            raise UserError("The name of a task is empty.", 'Give it one: {"stars": rows}')
        if name in RESERVED_NAMES:
            raise UserError(
                f"A task cannot be called '{name}': {RESERVED_NAMES[name]}.", f'Use another name: {{"{name}_": rows}}'
            )


def splits_of(data: Any, where: str) -> dict[SplitName, Any]:
    """{"train": ..., "validation": ...}, (train, dev), (train, dev, test), or only training data."""
    if isinstance(data, Mapping):
        splits = mapped_splits(data, where)
    elif isinstance(data, tuple) and not hasattr(data, "_asdict"):
        check_tuple(data, where)
        splits = dict(zip(TUPLE_ROLES, data, strict=False))
    else:
        splits = {"train": data}
    if splits["train"] is None:
        raise UserError(f"{where}: there are no training rows: None is given.", HOW_TO_GIVE_ROWS)
    return {role: each for role, each in splits.items() if each is not None}


def mapped_splits(data: Mapping[Any, Any], where: str) -> dict[SplitName, Any]:
    unknown = [str(key) for key in data if str(key) not in ROLES]
    if unknown and "train" in data:
        first = unknown[0]
        dev = "" if "validation" in data or "dev" in data else f', "dev": data["{first}"]'
        raise UserError(
            f"{where}: the splits are train, dev (or validation) and test, not {', '.join(unknown)}.",
            f'Choose from them, for example: {{"train": data["train"]{dev}}}',
        )
    if unknown or "train" not in data:
        raise UserError(
            f"{where}: data of one task has the keys train, dev and test, not {', '.join(unknown or map(str, data))}.",
            "A dict of columns is given as pandas.DataFrame(columns); rows are a list of dicts, one for each row.",
        )
    splits: dict[SplitName, Any] = {ROLES[str(key)]: each for key, each in data.items()}
    if len(splits) < len(data):
        raise UserError(f"{where}: two dev sets are given: {', '.join(map(str, data))}.", "Give one of them.")
    return splits


def check_tuple(data: tuple[Any, ...], where: str) -> None:
    if not 1 <= len(data) <= 3:
        raise UserError(
            f"{where}: a tuple of {len(data)} is no (train, dev) or (train, dev, test).", "Give rows as a list."
        )
    if all(map(holds_values, data)):
        names = ("texts", "labels") if len(data) == 2 else ("texts1", "texts2", "labels")[-len(data) :]
        raise UserError(
            f"{where}: a tuple is (train, dev) or (train, dev, test), and each of them needs rows, not single values.",
            f"Give texts and labels as rows: list(zip({', '.join(names)}))",
        )


def holds_values(given: Any) -> bool:
    """Whether this is a column of texts or labels rather than rows."""
    if isinstance(given, str | Path) or column_names(given) is not None or not isinstance(given, Sequence):
        # a Series has values of one column
        return hasattr(given, "dtype") and getattr(given, "ndim", 1) == 1
    return bool(given) and isinstance(given[0], str | int | float)
