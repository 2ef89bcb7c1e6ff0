"""(the results of a comparison, their runs) -> in words, what makes them less comparable than a table looks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.comparison.results import TrialResult
from minbert.config.overall import split_measure
from minbert.runs.directory import read_run

# a training that took more or less of its time than this was not given what the others were
LONGEST, SHORTEST = 1.5, 0.67
# steps do not depend on the machine
EXACT = 1.1

# seconds, or steps, of a training
Given = tuple[float | None, int | None]


def caveats(
    done: Sequence[TrialResult], given: Mapping[str, Given], folder: Path, compared: Sequence[str] = ()
) -> tuple[str, ...]:
    """`done`: finished trainings whose runs are there; `given`: what those of each label were given.

    `compared`: the labels that are ranked, the baseline first.
    """
    runs = {each.run: read_run(folder / each.run) for each in done}
    recipes = {each.label: runs[each.run]["recipe"] for each in done}
    ranked = {label: recipes[label] for label in compared if label in recipes}
    return (
        *the_same(done),
        *other_amounts(done, given),
        *other_overall(ranked),
        *other_circumstances(list(runs.values())),
    )


def other_overall(recipes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Recipes, the baseline's first, that declare another overall score for the tasks that both have."""
    if not recipes:
        return
    baseline, *others = recipes
    differing = []
    for label in others:
        shared = set(recipes[baseline]["tasks"]) & set(recipes[label]["tasks"])
        terms = [
            {
                measure: term
                for measure, term in recipe.get("overall", {}).items()
                if split_measure(measure)[0] in shared
            }
            for recipe in (recipes[baseline], recipes[label])
        ]
        if terms[0] != terms[1]:
            differing.append(label)
    if differing:
        yield (
            f"{' and '.join(differing)} {'declares' if len(differing) == 1 else 'declare'} another overall score than "
            f"{baseline}: their models were selected by their own, and are ranked here by that of {baseline}."
        )


def the_same(done: Sequence[TrialResult]) -> Iterator[str]:
    """Recipes that are one training, as those that differ only in a backbone that --backbone replaced."""
    labels: dict[str, list[str]] = {}
    for each in done:
        labels.setdefault(each.key, []).append(each.label)
    for names in dict.fromkeys(tuple(names) for names in labels.values() if len(names) > 1):
        yield f"{' and '.join(names)} are the very same training here, under {len(names)} names."


def other_amounts(done: Sequence[TrialResult], given: Mapping[str, Given]) -> Iterator[str]:
    """Recipes that could not be cut to the budget, or whose steps were timed while the machine did something else."""
    for label in dict.fromkeys(each.label for each in done):
        costs = [each.cost for each in done if each.label == label and each.cost is not None]
        seconds, steps = given.get(label, (None, None))
        if seconds and costs:
            spent = sum(cost.seconds for cost in costs) / len(costs)
            busy = "the machine was {} busy than when its steps were timed"
            if spent > LONGEST * seconds:
                why = f"not even the least of it fits, or {busy.format('more')}"
            elif spent < SHORTEST * seconds:
                why = f"the whole recipe is shorter, it stopped early, or {busy.format('less')}"
            else:
                continue
            yield f"{label} trained {spent:,.0f} s where {seconds:,.0f} s were given: {why}."
        elif steps and costs:
            made = sum(cost.steps for cost in costs) / len(costs)
            if made > EXACT * steps:
                why = "every task has at least one step in every epoch"
            elif made * EXACT < steps:
                why = "the whole recipe is shorter, it stopped early, or its epochs do not divide them evenly"
            else:
                continue
            yield f"{label} trained {made:,.0f} steps where {steps:,.0f} were given: {why}."


def other_circumstances(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Trainings that were made by other code or on another machine than the rest."""
    for name, found in {
        "code of minbert": [run["sha256"]["code"][:8] for run in runs],
        "versions of torch": [run["versions"]["torch"] for run in runs],
        "precisions": [run["computes_in"] for run in runs],
        "devices": [run["device"] for run in runs],
    }.items():
        counts = Counter(map(str, found)).most_common()
        if len(counts) > 1:
            shown = ", ".join(f"{value} ({number})" for value, number in counts)
            yield f"The trainings are not all alike in their {name}: {shown}."
