"""(TaskPlan, Task) -> the plan as a table, with every default of the model's techniques filled in."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, cast

from minbert.config.recipe import Recipe, TaskPlan
from minbert.config.schema import choose_technique, expand_spec
from minbert.config.task import Task
from minbert.model.adapters import ADAPTERS
from minbert.model.heads import HEADS
from minbert.model.losses import DEFAULT_LOSSES, LOSSES, Loss
from minbert.model.pairings import PAIRINGS
from minbert.model.poolings import POOLINGS

# the setting of a task that names a technique -> its family
MODEL_FAMILIES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "pairing": PAIRINGS,
    "pooling": POOLINGS,
    "head": HEADS,
    "loss": LOSSES,
    "adapters": ADAPTERS,
}


def resolve_plan(plan: TaskPlan, task: Task, where: str) -> dict[str, Any]:
    """The plan as a table, without the path of the task's file."""
    # filled in first, so that the order of the settings does not depend on which were given
    table = asdict(plan) | {
        "loss": plan.loss or DEFAULT_LOSSES[task.kind],
        "max_length": plan.max_length or task.most_tokens,
        "shared_layer": plan.shared and asdict(plan.shared),
    }
    table = {key: value for key, value in table.items() if value is not None and key != "task"}
    for name in ("pairing", "pooling", "head", "loss"):
        table[name] = expand_spec(name, MODEL_FAMILIES[name], table[name], where)
    table["adapters"] = [expand_spec("adapters", ADAPTERS, spec, where) for spec in table["adapters"]]
    table["regularizers"] = list(table["regularizers"])
    return table


def is_scored(recipe: Recipe, task: str) -> bool:
    """Whether a task has scores; with some losses it only trains the encoder."""
    loss = recipe.tasks[task].loss
    if loss is None:
        return True
    make, _, _ = choose_technique("loss", LOSSES, loss, f"{recipe.where}: task '{task}'")
    return cast(type[Loss], make).predicts
