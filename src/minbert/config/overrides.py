"""(a recipe's table, what is laid over it) -> a table: `extends` and `--set`."""

import tomllib
from collections.abc import Mapping
from typing import Any

from minbert.errors import UserError


def by_name(tasks: Any) -> Any:
    """tasks = ["sst"] is short for [tasks.sst]."""
    names = isinstance(tasks, list) and all(isinstance(name, str) for name in tasks)
    return {name: {} for name in tasks} if names else tasks


def lay_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe on top of the one it extends: tasks = [...] picks from the tasks below, the rest is merged."""
    tasks, picked = by_name(below.get("tasks", {})), by_name(above.get("tasks"))
    if isinstance(above.get("tasks"), list) and isinstance(picked, dict) and isinstance(tasks, dict):
        tasks, above = {name: tasks.get(name, {}) for name in picked}, {**above, "tasks": {}}
    return merge({**below, "tasks": tasks}, above)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` wins; lists are replaced, false removes a table, tables are merged unless they name techniques
    that differ. A table without a name sets up the technique below it."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if value is False and isinstance(old, dict):
            del merged[key]
        elif isinstance(old, str) and isinstance(value, dict) and "name" not in value:
            merged[key] = {"name": old, **value}
        elif isinstance(old, dict) and isinstance(value, dict) and value.get("name") in (None, old.get("name")):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def apply_override(table: dict[str, Any], override: str) -> None:
    """`stages.0.epochs=3`: the value is TOML, or else a plain string."""
    key, equals, text = override.partition("=")
    steps = key.strip().split(".")
    if not equals or not all(steps):
        raise UserError(f"--set {override}: not of the form key=value.", "For example: --set stages.0.epochs=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    if steps == ["tasks"] and isinstance(value, list):
        table.update(lay_over(table, {"tasks": value}))
        return
    table["tasks"] = by_name(table.get("tasks", {}))
    table.setdefault("stages", [{}])
    here: Any = table
    for i, step in enumerate(steps):
        inside = f"--set {override}: '{'.'.join(steps[:i])}'"
        if not isinstance(here, dict | list):
            raise UserError(f"{inside} is a value, not a table.")
        if isinstance(here, list) and not (step.isdecimal() and int(step) < len(here)):
            raise UserError(f"{inside} has the places 0 to {len(here) - 1}, not '{step}'.")
        place: Any = int(step) if isinstance(here, list) else step
        old = here.get(place) if isinstance(here, dict) else here[place]
        if i == len(steps) - 1:
            here[place] = value
            if value is False and isinstance(old, dict):
                del here[place]
            return
        if old is None or isinstance(old, str):
            # a technique by its bare name gets settings: head = "linear" and head.dropout=0.2
            here[place] = {} if old is None else {"name": old}
        here = here[place]
