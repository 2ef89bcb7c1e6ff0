"""Recipe -> the resolved config: every default is filled in, so that its meaning does not change with the defaults."""

from collections.abc import Mapping
from typing import Any

from minbert.config.overall_terms import overall_as_table, overall_terms
from minbert.config.recipe import Recipe
from minbert.config.schema import Spec, expand_spec
from minbert.config.task import Task
from minbert.model.resolve import is_scored, resolve_plan
from minbert.training.registry import FAMILIES


def resolve_recipe(recipe: Recipe, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """The recipe as a table that can be written as TOML."""
    table = recipe.as_table()
    for name, task in tasks.items():
        where = f"{recipe.where}: task '{name}'"
        plan = resolve_plan(recipe.tasks[name], task, where)
        plan["regularizers"] = [resolve_spec("regularizers", spec, where) for spec in plan["regularizers"]]
        table["tasks"][name] = plan
    # a recipe without stages: they are chosen when its data is read
    for number, stage in enumerate(table.get("stages", [])):
        stage["sampler"] = resolve_spec("sampler", stage["sampler"], f"{recipe.where}: stage {number}")
    table["balancer"] = resolve_spec("balancer", table["balancer"], recipe.where)
    for family in ("algorithm", "schedule"):
        table["optimizer"][family] = resolve_spec(family, table["optimizer"][family], recipe.where)
    if recipe.weight_averaging is not None:
        table["weight_averaging"] = resolve_spec("weight_averaging", recipe.weight_averaging, recipe.where)
    measured = {name: task for name, task in tasks.items() if is_scored(recipe, name)}
    table["overall"] = overall_as_table(overall_terms(recipe.overall, measured))
    return table


def resolve_spec(family: str, spec: Spec, where: str) -> Spec:
    return expand_spec(family, FAMILIES[family], spec, where)
