"""A recipe with every default of every technique in it: it means the same if defaults change."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from minbert.adapters import ADAPTERS
from minbert.averages import AVERAGES
from minbert.balancers import BALANCERS
from minbert.heads import HEADS
from minbert.losses import DEFAULTS, LOSSES
from minbert.pairings import PAIRINGS
from minbert.poolings import POOLINGS
from minbert.recipe import Recipe, TaskPlan
from minbert.regularisers import REGULARISERS
from minbert.samplers import SAMPLERS
from minbert.schedules import SCHEDULES
from minbert.task import Task
from minbert.variants import expand


def written_out(recipe: Recipe, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """The recipe as a table that TOML can hold."""
    table = recipe.as_table()
    for name, task in tasks.items():
        table["tasks"][name] = plan_in_full(recipe.tasks[name], task, f"{recipe.where}: task '{name}'")
    for number, stage in enumerate(table["stages"]):
        stage["sampler"] = expand("sampler", SAMPLERS, stage["sampler"], f"{recipe.where}: stage {number}")
    table["balancer"] = expand("balancer", BALANCERS, table["balancer"], recipe.where)
    table["optimiser"]["schedule"] = expand("schedule", SCHEDULES, recipe.optimiser.schedule, recipe.where)
    if recipe.average is not None:
        table["average"] = expand("average", AVERAGES, recipe.average, recipe.where)
    return table


def plan_in_full(plan: TaskPlan, task: Task, where: str) -> dict[str, Any]:
    """How a task is learned, without where its file is."""
    # filled in before anything is left out: the order of the settings does not depend on which were given
    table = asdict(plan) | {"loss": plan.loss or DEFAULTS[task.kind], "max_length": plan.max_length or task.max_length}
    table = {key: value for key, value in table.items() if value is not None and key != "task"}
    for part, family in (("pairing", PAIRINGS), ("pooling", POOLINGS), ("head", HEADS), ("loss", LOSSES)):
        table[part] = expand(part, family, table[part], where)
    for part, several in (("adapter", ADAPTERS), ("regulariser", REGULARISERS)):
        table[f"{part}s"] = [expand(part, several, spec, where) for spec in table[f"{part}s"]]
    return table
