"""(a recipe that names no stages, the sizes of its tasks, the backbone) -> a recipe with settings that fit the data.

The settings are a recipe that the user's extends: whatever the user writes wins.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from minbert.config.loading import recipe_from
from minbert.config.overrides import extend_recipe, tasks_as_table
from minbert.config.recipe import Recipe
from minbert.config.task import Task
from minbert.encoder.bert import BertConfig

# a recipe, or one of its tables
RecipePart = TypeVar("RecipePart", bound=Any)

# rows of a task before its data is read
ASSUMED_ROWS = 1000
# passes over a task of 1,000 rows; small tasks get more passes than large ones: N^-EXPONENT. Labeled pairs start at
# their cosine, which many passes over few rows would destroy
PASSES, PAIR_PASSES, FEWEST_PASSES, MOST_PASSES, EXPONENT = 6.0, 3.0, 2.0, 25.0, 0.5
EVALUATIONS = 8
# of all steps, for parts of equal length
MOST_EXTRA = 0.02
AUTO_PATIENCE = 5
FEW_ROWS_PER_LABEL = 50
SCORED_ROWS = 1000
# the learning rate of a backbone of width 384; wider ones need smaller steps
LEARNING_RATE, HEAD_LEARNING_RATE, WIDTH = 1.5e-4, 1e-3, 384
# of all steps: an average of the weights is steadier from one evaluation to the next, and generalizes better
AVERAGE_WINDOW = 0.15
# pairs start at the cosine of the two texts' vectors; x, the vector of both texts together, lets their words meet
PAIR_FEATURES = ["cos", "x"]
# for backbones that cannot read two texts as one sequence
SEPARATE_FEATURES = ["|u-v|", "u*v", "cos"]


def choose_settings(
    recipe: Recipe, tasks: Mapping[str, Task], config: BertConfig, rows: Mapping[str, int] | None = None
) -> Recipe:
    """The recipe with every setting chosen; one with stages stays as it is. `rows`: training rows of each task."""
    if recipe.stages:
        return recipe
    sizes = {name: ASSUMED_ROWS if rows is None else rows[name] for name in tasks}
    written = recipe_from(recipe.table, recipe.where)
    # `epochs` is in the length of the chosen stage
    table = {name: value for name, value in recipe.table.items() if name != "epochs"}
    chosen = recipe_from(extend_recipe(auto_table(recipe, tasks, sizes, config), table), recipe.where)
    return with_changes(chosen, written, recipe)


def with_changes(chosen: RecipePart, written: RecipePart, now: RecipePart) -> RecipePart:
    """What was changed after reading, such as the seed of a trial, on top of the chosen settings."""
    changed: dict[str, Any] = {}
    for each in fields(now):
        old, new = getattr(written, each.name), getattr(now, each.name)
        if each.name not in ("where", "table") and old != new:
            nested = is_dataclass(new) and is_dataclass(old)
            changed[each.name] = with_changes(getattr(chosen, each.name), old, new) if nested else new
    return replace(chosen, **changed)


def auto_table(
    recipe: Recipe, tasks: Mapping[str, Task], sizes: Mapping[str, int], config: BertConfig
) -> dict[str, Any]:
    """Everything that a recipe without stages leaves open, as a recipe's table."""
    defaults = recipe.table.get("defaults", {})
    plans, batches = {}, {}
    for name, task in tasks.items():
        pairing = written(recipe, name, "pairing") or natural_pairing(task, config)
        plan = task_settings(task, sizes[name], pairing if isinstance(pairing, str) else pairing["name"])
        plans[name] = {key: value for key, value in plan.items() if key not in defaults}
        # the last batch of a pass may have fewer rows
        batch_size = written(recipe, name, "batch_size") or plan["batch_size"]
        batches[name] = (recipe.epochs or passes(sizes[name], task)) * -(-sizes[name] // batch_size)
    steps = max(1, round(sum(batches.values()) / recipe.optimizer.gradient_accumulation_steps))
    parts = evaluations(steps)
    return {
        "tasks": plans,
        "weight_averaging": {"name": "ema", "window": AVERAGE_WINDOW},
        "stages": [
            {
                "epochs": parts,
                "steps_per_epoch": -(-steps // parts),
                "sampler": {"name": "fixed", "weights": {name: float(f"{each:.4g}") for name, each in batches.items()}},
            }
        ],
        "optimizer": {
            "learning_rate": LEARNING_RATE * WIDTH / config.hidden_size,
            "head_learning_rate": HEAD_LEARNING_RATE * WIDTH / config.hidden_size,
            "layer_decay": 0.9,
            "warmup_ratio": 0.1,
        },
        "selection": {"patience": AUTO_PATIENCE, "eval_rows": SCORED_ROWS, "untrained": True},
    }


def natural_pairing(task: Task, config: BertConfig) -> str:
    """Pairs separately, to start at their cosine, and in one sequence, if the backbone tells the two texts apart."""
    return "combined" if task.paired and config.type_vocab_size > 1 else "bi_encoder"


def task_settings(task: Task, rows: int, pairing: str) -> dict[str, Any]:
    """How one task is learned."""
    settings: dict[str, Any] = {"pairing": pairing, "pooling": "mean", "batch_size": 16 if rows < 5000 else 32}
    # a head that already fits the training rows leaves the encoder little to learn from, so labels start at their
    # frequencies or at the cosine of a pair; scores start at a fit of all features
    settings["head_init"] = label_start(task, rows) if task.kind == "classify" else "linear_probe"
    settings["head"] = {"name": "linear", "dropout": 0.1}
    if task.paired and pairing != "cross_encoder":
        # without dropout: a dropped cosine would say that the texts are unrelated
        features = PAIR_FEATURES if pairing == "combined" else SEPARATE_FEATURES
        settings["head"] = {"name": "linear", "dropout": 0.0, "features": features}
        settings["head_init"] = "cosine" if task.kind == "classify" else "linear_probe"
    return settings


def label_start(task: Task, rows: int) -> str:
    """With few rows per label, the passes over them are too few for a head that knows nothing."""
    return "scaled_probe" if rows < FEW_ROWS_PER_LABEL * len(task.labels) else "prior"


def written(recipe: Recipe, name: str, setting: str) -> Any:
    """What the recipe writes for a task or for all tasks; None if it leaves the setting open."""
    tasks = tasks_as_table(recipe.table.get("tasks", {}))
    if setting in (tasks.get(name) or {}) or setting in recipe.table.get("defaults", {}):
        return getattr(recipe.tasks[name], setting)
    return None


def passes(rows: int, task: Task) -> float:
    """How often each row of a task is seen."""
    usual = PAIR_PASSES if task.paired and task.kind == "classify" else PASSES
    return float(min(MOST_PASSES, max(FEWEST_PASSES, usual * (1000 / rows) ** EXPONENT)))


def evaluations(steps: int) -> int:
    """How many parts of equal length these steps have: EVALUATIONS, or fewer if that would be many steps more."""
    most = min(EVALUATIONS, steps)
    extra = {parts: -steps % parts for parts in range(most, most // 2, -1)}
    few = (parts for parts, more in extra.items() if more <= MOST_EXTRA * steps)
    return next(few, min(extra, key=extra.__getitem__))
