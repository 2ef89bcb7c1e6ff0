"""(finished trials, their runs) -> sentences on what makes the trials less comparable than a table suggests."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.comparison.results import TrialResult
from minbert.config.overall_terms import split_measure
from minbert.runs.directory import read_run

# a trial that took more or less than these fractions of its time did not get what the others got
MOST_TIME, LEAST_TIME = 1.5, 0.67
# steps do not depend on the machine, so the tolerance is smaller
STEP_TOLERANCE = 1.1

# seconds, or steps, of a trial
TrialLimit = tuple[float | None, int | None]


def find_caveats(
    done: Sequence[TrialResult], limits: Mapping[str, TrialLimit], folder: Path, ranked: Sequence[str] = ()
) -> tuple[str, ...]:
    """`done`: finished trials whose runs exist; `limits`: the budget of the trials of each label.

    `ranked`: the labels of the systems that are ranked, the baseline first.
    """
    runs = {each.run: read_run(folder / each.run) for each in done}
    configs = {each.label: runs[each.run]["recipe"] for each in done}
    return (
        *duplicate_caveats(done),
        *budget_caveats(done, limits),
        *overall_caveats({label: configs[label] for label in ranked if label in configs}),
        *environment_caveats(list(runs.values())),
    )


def overall_caveats(configs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Systems whose [overall] differs from that of the first, the baseline, on the tasks that both have."""
    differing, baseline = [], next(iter(configs), "")
    for label, config in configs.items():
        shared = set(configs[baseline]["tasks"]) & set(config["tasks"])
        own, reference = (
            {name: term for name, term in each.get("overall", {}).items() if split_measure(name)[0] in shared}
            for each in (config, configs[baseline])
        )
        if own != reference:
            differing.append(label)
    if differing:
        yield (
            f"{' and '.join(differing)} {'declares' if len(differing) == 1 else 'declare'} another overall score than "
            f"{baseline}: models were selected by their own one, and are ranked by that of {baseline}."
        )


def duplicate_caveats(done: Sequence[TrialResult]) -> Iterator[str]:
    """Recipes that are one and the same trial, as those that differ only in a backbone that --backbone replaced."""
    labels: dict[str, list[str]] = {}
    for each in done:
        labels.setdefault(each.key, []).append(each.label)
    for names in dict.fromkeys(tuple(names) for names in labels.values() if len(names) > 1):
        yield f"{' and '.join(names)} are the same training run here, under {len(names)} names."


def budget_caveats(done: Sequence[TrialResult], limits: Mapping[str, TrialLimit]) -> Iterator[str]:
    """Recipes that could not be shortened to the budget, or whose steps were timed while the machine was busy."""
    for label in dict.fromkeys(each.label for each in done):
        costs = [each.cost for each in done if each.label == label and each.cost is not None]
        seconds, steps = limits.get(label, (None, None))
        if not costs:
            continue
        if seconds:
            spent = sum(cost.seconds for cost in costs) / len(costs)
            if reason := time_mismatch(spent, seconds):
                yield f"{label} trained for {spent:,.0f} s of a budget of {seconds:,.0f} s: {reason}."
        elif steps:
            made = sum(cost.steps for cost in costs) / len(costs)
            if reason := step_mismatch(made, steps):
                yield f"{label} trained for {made:,.0f} steps of a budget of {steps:,.0f}: {reason}."


def time_mismatch(spent: float, limit: float) -> str:
    """Why a trial took longer or shorter than its budget; empty where it did not."""
    busy = "the machine was {} busy than when its steps were timed"
    if spent > MOST_TIME * limit:
        return f"even its smallest version does not fit, or {busy.format('more')}"
    if spent < LEAST_TIME * limit:
        return f"the whole recipe is shorter, it stopped early, or {busy.format('less')}"
    return ""


def step_mismatch(made: float, limit: float) -> str:
    """Why a trial made more or fewer steps than its budget; empty where it did not."""
    if made > STEP_TOLERANCE * limit:
        return "every task has at least one step in every epoch"
    if made * STEP_TOLERANCE < limit:
        return "the whole recipe is shorter, it stopped early, or its epochs do not divide the steps evenly"
    return ""


def environment_caveats(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Trials that ran with different code or on a different machine than the rest."""
    for name, found in {
        "code of minbert": [run["sha256"]["code"][:8] for run in runs],
        "version of torch": [run["versions"]["torch"] for run in runs],
        "precision": [run["computes_in"] for run in runs],
        "device": [run["device"] for run in runs],
    }.items():
        counts = Counter(map(str, found)).most_common()
        if len(counts) > 1:
            shown = ", ".join(f"{value} ({number})" for value, number in counts)
            yield f"The training runs differ in {name}: {shown}."
