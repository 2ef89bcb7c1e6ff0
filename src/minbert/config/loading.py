"""recipes/x.toml -> Recipe. A recipe may extend another, and settings may be overridden."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.config.overall_terms import flatten_overall
from minbert.config.overrides import apply_override, extend_recipe, merge, tasks_as_table
from minbert.config.recipe import Recipe, Stage, TaskPlan
from minbert.config.schema import check_known, fill_settings, settings_of
from minbert.errors import UserError, did_you_mean, short_path

SHIPPED = Path(__file__).parent / "recipes"


def read_recipe(spec: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a file, or a shipped one by its name, with `key.path=value` overrides."""
    table, path = read_recipe_table(spec)
    for override in overrides:
        apply_override(table, override)
    return recipe_from(table, recipe_name(path))


def recipe_from(table: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from a table as TOML gives it."""
    check_known(table, [*settings_of(Recipe), "defaults", "extends"], where, "the recipe")
    settings = {name: value for name, value in table.items() if name != "defaults"}
    settings["tasks"] = read_plans(table.get("tasks", {}), table.get("defaults", {}), where)
    stages = unroll_stages(table.get("stages", [{}]), where)
    settings["stages"] = [fill_settings(Stage, stage, where, f"stage {i}") for i, stage in enumerate(stages)]
    return fill_settings(Recipe, settings, where, "the recipe", where)


def read_plans(tasks: Any, defaults: Any, where: str) -> dict[str, TaskPlan]:
    """How each task is learned: its own settings on top of the defaults."""
    tasks = tasks_as_table(tasks)
    if not isinstance(tasks, dict) or not isinstance(defaults, dict):
        raise UserError(
            f"{where}: 'tasks' and 'defaults' are tables.",
            'Write for example [tasks.sst] or tasks = ["sst"].',
        )
    fill_settings(TaskPlan, defaults, where, "'defaults'")
    plans = {}
    for name, plan in tasks.items():
        if plan is False:
            others = [other for other, kept in tasks.items() if kept is not False]
            raise UserError(f"{where}: there is no task '{name}' to leave out. {did_you_mean(name, others)}")
        if not isinstance(plan, dict):
            raise UserError(f"{where}: 'tasks.{name}' should be a table.")
        plans[name] = fill_settings(TaskPlan, merge(defaults, plan), where, f"task '{name}'")
    return plans


def unroll_stages(stages: Any, where: str) -> list[dict[str, Any]]:
    """The stages one after another: {repeat = 10, each = [{...}, {...}]} is short for twenty of them."""
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise UserError(f"{where}: 'stages' should be a list of tables.", "Write [[stages]] before each.")
    flat = []
    for stage in stages:
        if not {"repeat", "each"} & set(stage):
            flat.append(stage)
            continue
        times = stage.get("repeat")
        if set(stage) != {"repeat", "each"} or not isinstance(times, int) or isinstance(times, bool) or times < 1:
            raise UserError(
                f"{where}: a group of stages has 'repeat', a whole number of at least 1, and 'each', the stages.",
                "Write [[stages]] with repeat = 10, and below it [[stages.each]] before each of its stages.",
            )
        flat += times * unroll_stages(stage["each"], where)
    return flat


def read_recipe_table(spec: str, seen: tuple[Path, ...] = ()) -> tuple[dict[str, Any], Path]:
    """A recipe's table with everything it extends, and its file."""
    path = find_recipe(spec, seen[-1].parent if seen else None)
    if path in seen:
        raise UserError(f"{recipe_name(path)}: extends itself through {' and '.join(recipe_name(p) for p in seen)}.")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise UserError(f"{recipe_name(path)}: not TOML: {wrong}") from None
    anchor_tasks(table, path.parent)
    if "overall" in table:
        table["overall"] = flatten_overall(table["overall"])
    parent = table.pop("extends", None)
    if parent is not None:
        if not isinstance(parent, str):
            raise UserError(f"{recipe_name(path)}: 'extends' names one recipe.")
        base, _ = read_recipe_table(parent, (*seen, path))
        table = extend_recipe(base, table)
    return table, path


def find_recipe(spec: str, beside: Path | None = None) -> Path:
    for path in ([beside / spec] if beside else []) + [Path(spec), SHIPPED / f"{spec}.toml"]:
        if path.is_file():
            return path.resolve()
    raise UserError(
        f"There is no recipe '{spec}'. {did_you_mean(spec, shipped_recipes())}",
        "Name a file that ends in .toml, or one of those that `minbert recipes` lists.",
    )


def shipped_recipes() -> list[str]:
    return sorted(p.relative_to(SHIPPED).with_suffix("").as_posix() for p in SHIPPED.rglob("*.toml"))


def recipe_name(path: Path) -> str:
    """A recipe as an error message should name it."""
    if path.is_relative_to(SHIPPED):
        return f"recipe {path.relative_to(SHIPPED).with_suffix('').as_posix()}"
    return short_path(path)


def anchor_tasks(table: dict[str, Any], folder: Path) -> None:
    """Make the paths of task files relative to the recipe that names them, not to one that extends it."""
    tasks = table.get("tasks")
    for plan in tasks.values() if isinstance(tasks, dict) else ():
        if isinstance(plan, dict) and isinstance(plan.get("task"), str):
            path = folder / plan["task"]
            if path.suffix == ".toml" and path.is_file():
                plan["task"] = str(path)
