"""(how a task is trained, the task) -> the same with every default of the model's techniques filled in."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from minbert.config.recipe import TaskPlan
from minbert.config.schema import Spec, expand_spec
from minbert.config.task import Task
from minbert.model.adapters import ADAPTERS
from minbert.model.heads import HEADS
from minbert.model.losses import DEFAULTS, LOSSES
from minbert.model.pairings import PAIRINGS
from minbert.model.poolings import POOLINGS

# the setting of a task that names a technique: its family
FAMILIES: dict[str, Mapping[str, Callable[..., Any]]] = {
    "pairing": PAIRINGS,
    "pooling": POOLINGS,
    "head": HEADS,
    "loss": LOSSES,
    "adapters": ADAPTERS,
}


def resolve_plan(plan: TaskPlan, task: Task, where: str) -> dict[str, Any]:
    """How a task is trained, without where its file is."""
    # filled in before anything is left out: the order of the settings does not depend on which were given
    table = asdict(plan) | {"loss": plan.loss or DEFAULTS[task.kind], "max_length": plan.max_length or task.max_length}
    table = {key: value for key, value in table.items() if value is not None and key != "task"}
    for name in ("pairing", "pooling", "head", "loss"):
        table[name] = resolve_spec(name, table[name], where)
    table["adapters"] = [resolve_spec("adapters", spec, where) for spec in table["adapters"]]
    table["regularizers"] = list(table["regularizers"])
    return table


def resolve_spec(family: str, spec: Spec, where: str) -> Spec:
    return expand_spec(family, FAMILIES[family], spec, where)
