"""(a recipe of several tasks) -> the recipes that show whether sharing helps; (their results) -> whether it did.

alone: one task, everything else as it was. with: two of the tasks. then: all that the recipe does with the source,
after it all that it does with the target; the model is the target's best. Stages keep their epochs and steps: how much
of them is trained is up to the budget, of which each task has an equal part.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from minbert.comparison.contrasts import gains, transfers
from minbert.comparison.results import Gain, Transfer, TrialResult
from minbert.config.overall import without_tasks
from minbert.config.recipe import Recipe, Stage
from minbert.config.schema import Spec
from minbert.config.task import Task, read_task
from minbert.errors import UserError, did_you_mean
from minbert.model.resolve import is_measured


@dataclass(frozen=True)
class Variant:
    """A recipe under the name that the tables have for it."""

    label: str
    recipe: Recipe
    # of the budget of a training
    part: float = 1.0


def sharing_variants(own: Variant, *, matrix: bool) -> list[Variant]:
    """What there is to train beside the recipe itself: each task alone, and for a matrix all pairs, with and then."""
    recipe = own.recipe
    if len(recipe.tasks) < 2:
        raise UserError(f"{recipe.where}: has one task, and nothing to share it with.", "Name a recipe of several.")
    trained = [name for name in recipe.tasks if stages_with(recipe, [name])]
    targets = [name for name in trained if is_measured(recipe, name)]
    if not targets:
        raise UserError(
            f"{recipe.where}: none of its tasks is trained and answers, so nothing shows whether sharing helps.",
            "Add a task that is measured.",
        )
    found = [alone(recipe, task) for task in targets]
    if matrix:
        # of two tasks, the pair is the recipe itself
        for one, other in combinations(trained, 2) if len(recipe.tasks) > 2 else ():
            if {one, other} & set(targets) and meet(recipe, one, other):
                found.append(pair(recipe, one, other))
        found += [then(recipe, source, target) for target in targets for source in trained if source != target]
    return found


def does_sharing_help(
    results: Sequence[TrialResult], together: str, names: Sequence[str], tasks: Mapping[str, Task], folder: Path
) -> tuple[tuple[Gain, ...], tuple[Transfer, ...]]:
    """`together`: the label of the recipe itself; `names`: its tasks, of which `tasks` are measured."""
    groups: dict[str, list[TrialResult]] = {}
    for result in results:
        groups.setdefault(result.label, []).append(result)
    alone = {name: groups[alone_label(name)] for name in names if alone_label(name) in groups}
    shared = {question: groups[label] for question, label in labels_of(groups, together, names).items()}
    return gains(alone, groups.get(together, []), tasks, folder), transfers(alone, shared, tasks, folder)


def labels_of(labels: Collection[str], together: str, names: Sequence[str]) -> dict[tuple[str, str, str], str]:
    """(source, target, "with" or "then"): the training that shows it, where there is one and the target alone."""
    found = {}
    for target in names if len(names) > 1 else ():
        for source in names:
            # a pair is trained once, for both; of two tasks, the pair is the recipe itself
            pairs = [with_label(target, source), with_label(source, target), *([together] if len(names) == 2 else [])]
            for how, candidates in {"with": pairs, "then": [then_label(source, target)]}.items():
                there = [label for label in candidates if label in labels]
                if there and source != target and alone_label(target) in labels:
                    found[source, target, how] = there[0]
    return found


def alone_label(task: str) -> str:
    return f"alone: {task}"


def with_label(one: str, other: str) -> str:
    return f"{one} with {other}"


def then_label(source: str, target: str) -> str:
    return f"{source} then {target}"


def alone(recipe: Recipe, task: str) -> Variant:
    """Only this task."""
    check_names(recipe, task)
    check_target(recipe, task)
    label = alone_label(task)
    return Variant(label, only(recipe, [task], label, f"Only {task}."), 1 / len(recipe.tasks))


def pair(recipe: Recipe, one: str, other: str) -> Variant:
    """These two tasks, in the stages that train them; what it does for one, and for the other."""
    check_names(recipe, one, other)
    if not is_measured(recipe, one):
        check_target(recipe, other)
    label = with_label(one, other)
    if not meet(recipe, one, other):
        raise UserError(
            f"{recipe.where}: no stage trains both '{one}' and '{other}', so they cannot be trained with each other.",
            f"Train them one after the other: '{then_label(one, other)}'.",
        )
    return Variant(label, only(recipe, [one, other], label, f"Only {one} and {other}."), 2 / len(recipe.tasks))


def then(recipe: Recipe, source: str, target: str) -> Variant:
    """The stages of the source alone, then those of the target alone."""
    check_names(recipe, source, target)
    check_target(recipe, target)
    label = then_label(source, target)
    first, last, both = (only(recipe, names, label) for names in ([source], [target], [source, target]))
    stages = [replace(stage, tasks=(source,)) for stage in first.stages]
    stages += [replace(stage, tasks=(target,)) for stage in last.stages]
    main = f"{target}.{read_task(target, recipe.tasks[target].task).metric}"
    # while the source is learned the target gets no better, and patience would be at its end before its turn
    selection = replace(last.selection, patience=None)
    about = f"First {source}, then {target}. {recipe.about}".strip()
    overall = last.overall or {main: 1.0}
    short = replace(both, about=about, stages=tuple(stages), selection=selection, overall=overall)
    return Variant(label, short, 2 / len(recipe.tasks))


def only(recipe: Recipe, names: Collection[str], label: str, about: str = "") -> Recipe:
    """The recipe without all other tasks, and without what it says of them."""
    where = f"{recipe.where} ({label})"
    gone = [name for name in recipe.tasks if name not in names]
    stages = stages_with(recipe, names)
    if not stages:
        raise UserError(f"{where}: no stage trains {' or '.join(names)}.", "Name it in a stage, or leave it out.")
    balancer = without(recipe.balancer, gone)
    if all_zero(balancer):
        raise UserError(
            f"{where}: the balancer gives no weight to {' or '.join(names)}, so there is nothing to learn.",
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
        overall=without_tasks(recipe.overall, gone),
    )


def stages_with(recipe: Recipe, names: Collection[str]) -> tuple[Stage, ...]:
    """What the stages do with these tasks; those that train none of them are left out."""
    gone = [name for name in recipe.tasks if name not in names]
    kept = []
    for stage in recipe.stages:
        tasks = tuple(name for name in stage.tasks if name in names)
        sampler = without(stage.sampler, gone)
        if (stage.tasks and not tasks) or all_zero(sampler):
            continue
        batch_sizes, max_lengths = (fewer(each, gone) for each in (stage.batch_sizes, stage.max_lengths))
        kept.append(replace(stage, tasks=tasks, sampler=sampler, batch_sizes=batch_sizes, max_lengths=max_lengths))
    return tuple(kept)


def without(spec: Spec, gone: Collection[str]) -> Spec:
    """A technique without what it is told of these tasks: in tables by task, and in lists of tasks."""
    return spec if isinstance(spec, str) else {key: fewer(value, gone) for key, value in spec.items()}


def fewer(value: Any, gone: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in gone}
    if isinstance(value, list | tuple):
        return type(value)(item for item in value if item not in gone)
    return value


def all_zero(spec: Spec) -> bool:
    """Whether a table of weights by task has none above 0 left."""
    tables = [] if isinstance(spec, str) else [value for value in spec.values() if isinstance(value, dict)]
    return any(table and not any(table.values()) for table in tables)


def meet(recipe: Recipe, one: str, other: str) -> bool:
    """Whether a stage trains both."""
    return any({one, other} <= set(stage.tasks or recipe.tasks) for stage in stages_with(recipe, [one, other]))


def check_names(recipe: Recipe, *names: str) -> None:
    for name in names:
        if name not in recipe.tasks:
            raise UserError(f"{recipe.where}: has no task '{name}'. {did_you_mean(name, recipe.tasks)}")
    if len(set(names)) < len(names):
        raise UserError(f"{recipe.where}: '{names[0]}' cannot be shared with itself.", "Name two tasks.")


def check_target(recipe: Recipe, task: str) -> None:
    if not is_measured(recipe, task):
        raise UserError(
            f"{recipe.where}: the task '{task}' only trains the encoder, so nothing shows what others do for it.",
            "Name a task that is measured.",
        )
