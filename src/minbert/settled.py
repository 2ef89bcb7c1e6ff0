"""A recipe with every default of every technique in it: it means the same if defaults change."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minbert.families import FAMILIES
from minbert.losses import DEFAULTS
from minbert.recipe import Recipe, TaskPlan
from minbert.task import Task
from minbert.variants import Spec, expand


def written_out(recipe: Recipe, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """The recipe as a table that TOML can hold."""
    table = recipe.as_table()
    for name, task in tasks.items():
        table["tasks"][name] = plan_in_full(recipe.tasks[name], task, f"{recipe.where}: task '{name}'")
    for number, stage in enumerate(table["stages"]):
        stage["sampler"] = in_full("sampler", stage["sampler"], f"{recipe.where}: stage {number}")
    table["balancer"] = in_full("balancer", table["balancer"], recipe.where)
    table["optimiser"]["schedule"] = in_full("schedule", recipe.optimiser.schedule, recipe.where)
    if recipe.average is not None:
        table["average"] = in_full("average", recipe.average, recipe.where)
    return table


def plan_in_full(plan: TaskPlan, task: Task, where: str) -> dict[str, Any]:
    """How a task is learned, without where its file is."""
    # filled in before anything is left out: the order of the settings does not depend on which were given
    table = asdict(plan) | {"loss": plan.loss or DEFAULTS[task.kind], "max_length": plan.max_length or task.max_length}
    table = {key: value for key, value in table.items() if value is not None and key != "task"}
    for part in ("pairing", "pooling", "head", "loss"):
        table[part] = in_full(part, table[part], where)
    for part in ("adapters", "regularisers"):
        table[part] = [in_full(part, spec, where) for spec in table[part]]
    return table


def in_full(family: str, spec: Spec, where: str) -> Spec:
    return expand(family, FAMILIES[family], spec, where)
