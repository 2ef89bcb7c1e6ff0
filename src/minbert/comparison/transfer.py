"""(recipe of several tasks) -> recipes that show whether joint training helps; (their results) -> whether it did.

alone: one task, everything else unchanged. with: two of the tasks jointly. then: everything that the recipe does with
the source, after that everything that it does with the target; the model with the best target score is kept. Stages
keep their epochs and steps: the budget, of which each task has an equal part, decides how much of them is trained.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from minbert.comparison.results import Gain, Transfer, TrialResult
from minbert.comparison.run_differences import sharing_gains, task_transfers
from minbert.config.overall_terms import drop_terms
from minbert.config.recipe import Recipe, Stage
from minbert.config.schema import Spec
from minbert.config.task import Task, read_task
from minbert.errors import UserError, did_you_mean
from minbert.model.resolve import is_scored


@dataclass(frozen=True)
class LabeledRecipe:
    """A recipe with its name in the tables of the report."""

    label: str
    recipe: Recipe
    # of the budget of a trial
    budget_fraction: float = 1.0


def transfer_recipes(own: LabeledRecipe, *, matrix: bool) -> list[LabeledRecipe]:
    """The recipes to train besides the recipe itself: each task alone, and for a matrix all pairs, with and then."""
    recipe = own.recipe
    if len(recipe.tasks) < 2:
        raise UserError(
            f"{recipe.where}: has only one task, so there is nothing to share.", "Name one of several tasks."
        )
    trained = [name for name in recipe.tasks if stages_of_tasks(recipe, [name])]
    targets = [name for name in trained if is_scored(recipe, name)]
    if not targets:
        raise UserError(
            f"{recipe.where}: none of its tasks is both trained and scored, so transfer cannot be measured.",
            "Add a task that is scored.",
        )
    found = [single_task_recipe(recipe, task) for task in targets]
    if matrix:
        # with two tasks, the pair is the recipe itself
        for one, other in combinations(trained, 2) if len(recipe.tasks) > 2 else ():
            if {one, other} & set(targets) and trained_together(recipe, one, other):
                found.append(pair_recipe(recipe, one, other))
        found += [
            sequential_recipe(recipe, source, target) for target in targets for source in trained if source != target
        ]
    return found


def measure_transfer(
    results: Sequence[TrialResult], together: str, names: Sequence[str], tasks: Mapping[str, Task], folder: Path
) -> tuple[tuple[Gain, ...], tuple[Transfer, ...]]:
    """`together`: the label of the recipe itself; `names`: its tasks, of which `tasks` are scored."""
    groups: dict[str, list[TrialResult]] = {}
    for result in results:
        groups.setdefault(result.label, []).append(result)
    alone = {name: groups[alone_label(name)] for name in names if alone_label(name) in groups}
    shared = {question: groups[label] for question, label in transfer_labels(groups, together, names).items()}
    gains = sharing_gains(alone, groups.get(together, []), tasks, folder)
    return gains, task_transfers(alone, shared, tasks, folder)


def transfer_labels(labels: Collection[str], together: str, names: Sequence[str]) -> dict[tuple[str, str, str], str]:
    """(source, target, "with" or "then"): the label that shows it, if it exists and so does the target alone."""
    found = {}
    for target in names if len(names) > 1 else ():
        for source in names:
            # a pair is trained once, for both; with two tasks, the pair is the recipe itself
            pairs = [with_label(target, source), with_label(source, target), *([together] if len(names) == 2 else [])]
            for how, candidates in {"with": pairs, "then": [then_label(source, target)]}.items():
                known = [label for label in candidates if label in labels]
                if known and source != target and alone_label(target) in labels:
                    found[source, target, how] = known[0]
    return found


def alone_label(task: str) -> str:
    return f"alone: {task}"


def with_label(one: str, other: str) -> str:
    return f"{one} with {other}"


def then_label(source: str, target: str) -> str:
    return f"{source} then {target}"


def single_task_recipe(recipe: Recipe, task: str) -> LabeledRecipe:
    """Only this task."""
    check_task_names(recipe, task)
    check_scored_task(recipe, task)
    label = alone_label(task)
    return LabeledRecipe(label, restrict_to_tasks(recipe, [task], label, f"Only {task}."), 1 / len(recipe.tasks))


def pair_recipe(recipe: Recipe, one: str, other: str) -> LabeledRecipe:
    """Only these two tasks, in the stages that train them."""
    check_task_names(recipe, one, other)
    if not is_scored(recipe, one):
        check_scored_task(recipe, other)
    label = with_label(one, other)
    if not trained_together(recipe, one, other):
        raise UserError(
            f"{recipe.where}: no stage trains both '{one}' and '{other}', so they cannot be trained with each other.",
            f"Train them one after the other: '{then_label(one, other)}'.",
        )
    pair = restrict_to_tasks(recipe, [one, other], label, f"Only {one} and {other}.")
    return LabeledRecipe(label, pair, 2 / len(recipe.tasks))


def sequential_recipe(recipe: Recipe, source: str, target: str) -> LabeledRecipe:
    """The stages of the source alone, then those of the target alone."""
    check_task_names(recipe, source, target)
    check_scored_task(recipe, target)
    label = then_label(source, target)
    first, last, both = (restrict_to_tasks(recipe, names, label) for names in ([source], [target], [source, target]))
    stages = [replace(stage, tasks=(source,)) for stage in first.stages]
    stages += [replace(stage, tasks=(target,)) for stage in last.stages]
    main = f"{target}.{read_task(target, recipe.tasks[target].task).metric}"
    # the target does not improve while the source is trained, so patience would run out before its turn
    selection = replace(last.selection, patience=None)
    about = f"First {source}, then {target}. {recipe.about}".strip()
    overall = last.overall or {main: 1.0}
    short = replace(both, about=about, stages=tuple(stages), selection=selection, overall=overall)
    return LabeledRecipe(label, short, 2 / len(recipe.tasks))


def restrict_to_tasks(recipe: Recipe, names: Collection[str], label: str, about: str = "") -> Recipe:
    """The recipe with only these tasks, and without its settings for the others."""
    where = f"{recipe.where} ({label})"
    removed = [name for name in recipe.tasks if name not in names]
    stages = stages_of_tasks(recipe, names)
    if not stages:
        raise UserError(f"{where}: no stage trains {' or '.join(names)}.", "Name it in a stage, or leave it out.")
    balancer = without_tasks(recipe.balancer, removed)
    if has_only_zero_weights(balancer):
        raise UserError(
            f"{where}: the balancer gives no weight to {' or '.join(names)}, so there is nothing to train.",
            "Give it a weight above 0, or leave the task out.",
        )
    return replace(
        recipe,
        where=where,
        about=f"{about} {recipe.about}".strip(),
        tasks={name: plan for name, plan in recipe.tasks.items() if name in names},
        stages=stages,
        balancer=balancer,
        # one task has no other to compare its gradients with
        selection=recipe.selection if len(names) > 1 else replace(recipe.selection, gradient_cosine_rows=None),
        overall=drop_terms(recipe.overall, removed),
    )


def stages_of_tasks(recipe: Recipe, names: Collection[str]) -> tuple[Stage, ...]:
    """The stages with only these tasks; stages that train none of them are left out."""
    removed = [name for name in recipe.tasks if name not in names]
    kept = []
    for stage in recipe.stages:
        tasks = tuple(name for name in stage.tasks if name in names)
        sampler = without_tasks(stage.sampler, removed)
        if (stage.tasks and not tasks) or has_only_zero_weights(sampler):
            continue
        batch_sizes, max_lengths = (drop_tasks(each, removed) for each in (stage.batch_sizes, stage.max_lengths))
        kept.append(replace(stage, tasks=tasks, sampler=sampler, batch_sizes=batch_sizes, max_lengths=max_lengths))
    return tuple(kept)


def without_tasks(spec: Spec, removed: Collection[str]) -> Spec:
    """A technique without its settings for these tasks: in tables by task, and in lists of tasks."""
    return spec if isinstance(spec, str) else {key: drop_tasks(value, removed) for key, value in spec.items()}


def drop_tasks(value: Any, removed: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in removed}
    if isinstance(value, list | tuple):
        return type(value)(item for item in value if item not in removed)
    return value


def has_only_zero_weights(spec: Spec) -> bool:
    """Whether all weights in a table by task are 0."""
    tables = [] if isinstance(spec, str) else [value for value in spec.values() if isinstance(value, dict)]
    return any(table and not any(table.values()) for table in tables)


def trained_together(recipe: Recipe, one: str, other: str) -> bool:
    """Whether a stage trains both tasks."""
    return any({one, other} <= set(stage.tasks or recipe.tasks) for stage in stages_of_tasks(recipe, [one, other]))


def check_task_names(recipe: Recipe, *names: str) -> None:
    for name in names:
        if name not in recipe.tasks:
            raise UserError(f"{recipe.where}: has no task '{name}'. {did_you_mean(name, recipe.tasks)}")
    if len(set(names)) < len(names):
        raise UserError(f"{recipe.where}: '{names[0]}' cannot be shared with itself.", "Name two tasks.")


def check_scored_task(recipe: Recipe, task: str) -> None:
    if not is_scored(recipe, task):
        raise UserError(
            f"{recipe.where}: task '{task}' only trains the encoder, so its transfer cannot be measured.",
            "Name a task that is scored.",
        )
