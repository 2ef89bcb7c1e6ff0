"""(a recipe's table, a table or a --set on top of it) -> a table."""

import tomllib
from collections.abc import Mapping
from typing import Any

from minbert.config.overall_terms import drop_terms, flatten_overall
from minbert.config.task import standard_tasks
from minbert.errors import UserError, did_you_mean


def tasks_as_table(tasks: Any) -> Any:
    """tasks = ["sst"] is short for [tasks.sst]."""
    names = isinstance(tasks, list) and all(isinstance(name, str) for name in tasks)
    return {name: {} for name in tasks} if names else tasks


def extend_recipe(base: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe on top of the one it extends: tasks = [...] picks from the base's tasks, the rest is merged."""
    tasks, chosen = tasks_as_table(base.get("tasks", {})), tasks_as_table(above.get("tasks"))
    gone = []
    if isinstance(chosen, dict) and isinstance(tasks, dict):
        picks = isinstance(above["tasks"], list)
        gone = [name for name in tasks if (name not in chosen if picks else chosen.get(name) is False)]
        if picks:
            tasks, above = {name: tasks.get(name, {}) for name in chosen}, {**above, "tasks": {}}
    return merge({**forget_overall(base, gone), "tasks": tasks}, above)


def forget_overall(table: Mapping[str, Any], gone: list[str]) -> dict[str, Any]:
    """The recipe without the terms of [overall] that are of tasks it leaves out."""
    declared = table.get("overall")
    return {**table, "overall": drop_terms(declared, gone)} if isinstance(declared, dict) else dict(table)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` wins: lists are replaced, false removes a table, and tables are merged unless they name different
    techniques. A table without a name changes the settings of the technique below it."""
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
    """Change a recipe's table by `optimizer.learning_rate=3e-5`: the value is TOML, or else a plain string."""
    key, equals, text = override.partition("=")
    steps = key.strip().split(".")
    if not equals or not all(steps):
        raise UserError(f"--set {override}: not of the form key=value.", "For example: --set seed=1")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    if steps == ["tasks"] and isinstance(value, list):
        table.update(extend_recipe(table, {"tasks": value}))
        return
    table["tasks"] = tasks_as_table(table.get("tasks", {}))
    if steps[0] == "tasks" and len(steps) > 2:
        prepare_task(table["tasks"], steps, override)
    if steps[0] == "stages" and len(steps) > 1 and not table.get("stages"):
        raise UserError(
            f"--set {override}: this recipe has no stages; its settings are chosen for the data.",
            "Write --set epochs=3 for three passes over the rows, or write stages into a recipe file.",
        )
    set_value(table, steps, value, override)
    if steps[0] == "overall" and "overall" in table:
        table["overall"] = flatten_overall(table["overall"])
    if steps[0] == "tasks" and len(steps) == 2 and value is False:
        table.update(forget_overall(table, steps[1:]))


def prepare_task(tasks: Any, steps: list[str], override: str) -> None:
    """A setting of a task that the recipe has; a standard task is added, and others by tasks.NAME.task=..."""
    name = steps[1]
    if not isinstance(tasks, dict) or steps[2:] == ["task"]:
        return
    if name not in tasks and name not in standard_tasks():
        raise UserError(f"--set {override}: there is no task '{name}'. {did_you_mean(name, tasks)}")
    plan = tasks.setdefault(name, {})
    if steps[2] == "task" and isinstance(plan, dict):
        # a standard task is named by its table
        plan.setdefault("task", name)


def set_value(table: dict[str, Any], steps: list[str], value: Any, override: str) -> None:
    """Set the value at a path through tables and lists; false removes a table."""
    here: Any = table
    for i, step in enumerate(steps):
        inside = f"--set {override}: '{'.'.join(steps[:i])}'"
        if not isinstance(here, dict | list):
            raise UserError(f"{inside} is a value, not a table.")
        if isinstance(here, list) and not (step.isdecimal() and int(step) < len(here)):
            raise UserError(f"{inside} has the places 0 to {len(here) - 1}, not '{step}'.", place_in(steps, i, here))
        place: Any = int(step) if isinstance(here, list) else step
        old = here.get(place) if isinstance(here, dict) else here[place]
        if i == len(steps) - 1:
            here[place] = value
            if value is False and isinstance(old, dict):
                del here[place]
            return
        if old is None or isinstance(old, str):
            # a technique written as a bare name gets settings: head = "linear" and head.dropout=0.2
            here[place] = {} if old is None else {"name": old}
        here = here[place]


def place_in(steps: list[str], i: int, here: list[Any]) -> str:
    """What to write instead of a path that goes wrong at its step i, in a list; nothing if that is not clear."""
    groups = [n for n, each in enumerate(here) if isinstance(each, dict) and isinstance(each.get("each"), list)]
    number, path, rest = steps[i].isdecimal(), ".".join(steps[:i]), steps[i:]
    rest = rest[1:] if number else rest
    if len(rest) != 1 or not here:
        return ""
    if not groups:
        return "" if number else f"Write {path}.0.{rest[0]}."
    first, last = f"{path}.{groups[0]}.each.0", f"{path}.{groups[0]}.each.{len(here[groups[0]]['each']) - 1}"
    return f"{path}.{groups[0]} is a group of stages that repeat: write {first}.{rest[0]} ({first} to {last})."
