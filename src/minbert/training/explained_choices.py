"""(a recipe without stages, the settings chosen for its data) -> what was chosen, in a few lines.

Each line names the setting that overrides it. What the user has written is left out.
"""

from collections.abc import Mapping
from typing import Any

from minbert.config.overrides import tasks_as_table
from minbert.config.recipe import Recipe
from minbert.config.task import Task
from minbert.plural import plural
from minbert.training.auto_length import explain_lengths
from minbert.training.planned_steps import PlannedTask, planned_tasks
from minbert.training.stages import plan_stages

# how each row of a task is learned: shown in one line with its steps
TASK_CHOICES = ("batch_size", "pairing", "head")


def explain_choices(
    recipe: Recipe, written: Mapping[str, Any], tasks: Mapping[str, Task], rows: Mapping[str, tuple[int, int]]
) -> list[str]:
    """`recipe`: with its settings chosen; `written`: the user's table; `rows`: training rows of each task, and
    those that choose the model."""
    sizes = {name: train for name, (train, _) in rows.items()}
    plans = plan_stages(recipe, sizes, dict.fromkeys(rows, 1))
    lines = [
        task_line(recipe, written, tasks[each.task], each)
        for each in planned_tasks(plans, sizes, recipe.optimizer.gradient_accumulation_steps)
    ]
    hints = [key for key in TASK_CHOICES if any(is_shown(key, task, written) for task in tasks.values())]
    lines += [f"  (--set {', '.join(f'tasks.TASK.{key}=...' for key in hints)})"] if hints else []
    steps, parts = sum(plan.steps for plan in plans), sum(plan.stage.epochs for plan in plans)
    lines.append(f"{plural(steps, 'step')} in all" + ("" if "epochs" in written else " (--set epochs=...)"))
    selection, optimizer = recipe.selection, recipe.optimizer
    most_rows, kind = max(choosing for _, choosing in rows.values()), selection.chosen_on
    whole = selection.eval_rows is None or selection.eval_rows >= most_rows
    scored = f"all {kind} rows" if whole else f"at most {selection.eval_rows:,} {kind} rows of each task"
    others = {
        "selection.eval_rows": f"{plural(parts, 'evaluation')} on {scored}",
        "selection.patience": f"stops after {plural(selection.patience or 0, 'evaluation')} without a better score",
        "optimizer.learning_rate": f"learning rate {optimizer.learning_rate:.3g}",
        "optimizer.head_learning_rate": f"learning rate of heads {optimizer.head_learning_rate:.3g}",
        "weight_averaging": "the mean of the last weights is kept",
    }
    if selection.patience is None:
        del others["selection.patience"]
    if not recipe.weight_averaging:
        del others["weight_averaging"]
    return lines + [f"{said} (--set {path}=...)" for path, said in others.items() if not has_path(written, path)]


def task_line(recipe: Recipe, written: Mapping[str, Any], task: Task, planned: PlannedTask) -> str:
    """The steps of a task, and how its rows are learned."""
    plan = recipe.tasks[task.name]
    specs = {"pairing": plan.pairing, "head": plan.head}
    names = {key: spec if isinstance(spec, str) else spec["name"] for key, spec in specs.items()}
    more = ", ".join(f"{key} {name}" for key, name in names.items() if is_shown(key, task, written))
    return (
        f"{task.name}: about {plural(round(planned.batches), 'step')} of {plan.batch_size} rows, {planned.passes:.1f} "
        f"passes over {planned.rows:,} rows" + (f"; {more}" if more else "")
    )


def explain_chosen_lengths(
    written: Mapping[str, Any], tasks: Mapping[str, Task], limits: Mapping[str, int], truncated: Mapping[str, float]
) -> list[str]:
    """What is read of each row, with the setting if the user has not written it. `tasks`: as the user wrote them."""
    lines = explain_lengths(limits, truncated)
    own = [tasks[name].max_length is not None or is_written("max_length", tasks[name], written) for name in limits]
    hints = [f" (--set tasks.{name}.max_length=...)" for name in limits]
    return [line.removesuffix(hint if mine else "") for line, hint, mine in zip(lines, hints, own, strict=True)]


def is_shown(key: str, task: Task, written: Mapping[str, Any]) -> bool:
    """Whether a setting of a task was chosen. Of one text, there is nothing to pair."""
    return not is_written(key, task, written) and (key != "pairing" or task.paired)


def is_written(key: str, task: Task, written: Mapping[str, Any]) -> bool:
    """Whether the user has written a setting, for the task or for all tasks."""
    plan = tasks_as_table(written.get("tasks", {})).get(task.name) or {}
    inside = plan.get("task")
    return key in plan or key in written.get("defaults", {}) or (isinstance(inside, Mapping) and key in inside)


def has_path(table: Mapping[str, Any], path: str) -> bool:
    """Whether a table has the setting a.b."""
    here: Any = table
    for step in path.split("."):
        if not isinstance(here, Mapping) or step not in here:
            return False
        here = here[step]
    return True
