"""(finished trials, their runs) -> sentences on what makes the trials less comparable than a table suggests."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.comparison.budget import Budget
from minbert.comparison.ranking import mean_cost
from minbert.comparison.results import TrialCost, TrialResult
from minbert.config.overall_terms import split_measure
from minbert.runs.directory import read_run

# a trial that took this many times its time, or less than the inverse of it, did not get what the others got; nor did
# one whose steps read so much less than those of another
TOLERANCE = 1.15
# steps and examples do not depend on the machine, so the tolerance is smaller
COUNT_TOLERANCE = 1.1

NO_BETTER = "its score no longer improved (selection.patience)"


def find_caveats(
    done: Sequence[TrialResult], limits: Mapping[str, Budget], folder: Path, ranked: Sequence[str] = ()
) -> tuple[str, ...]:
    """`done`: finished trials whose runs exist; `limits`: the budget of the trials of each label.

    `ranked`: the labels of the systems that are ranked, the baseline first.
    """
    runs = {each.run: read_run(folder / each.run) for each in done}
    configs = {each.label: runs[each.run]["recipe"] for each in done}
    return (
        *duplicate_caveats(done),
        *budget_caveats(done, limits),
        *step_caveats(done, limits, ranked),
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


def budget_caveats(done: Sequence[TrialResult], limits: Mapping[str, Budget]) -> Iterator[str]:
    """Recipes that did not keep to the budget, or whose steps were timed while the machine was busy."""
    for label, cost in mean_costs(done).items():
        limit = limits.get(label, Budget())
        if limit.seconds and (reason := time_mismatch(cost.seconds, limit.seconds)):
            yield f"{label} trained for {cost.seconds:,.0f} s of a budget of {limit.seconds:,.0f} s: {reason}."
        if limit.steps and (reason := count_mismatch(cost.steps, limit.steps, "step", "the whole recipe is shorter, ")):
            yield f"{label} trained for {cost.steps:,.0f} steps of a budget of {limit.steps:,}: {reason}."
        if limit.examples and cost.examples and (reason := count_mismatch(cost.examples, limit.examples, "batch")):
            yield f"{label} read {cost.examples:,.0f} examples of a budget of {limit.examples:,}: {reason}."


def mean_costs(done: Sequence[TrialResult]) -> dict[str, TrialCost]:
    """The cost of each label's trials, as a mean over seeds."""
    costs: dict[str, list[TrialCost]] = {}
    for each in done:
        if each.cost is not None:
            costs.setdefault(each.label, []).append(each.cost)
    return {label: found for label, some in costs.items() if (found := mean_cost(some)) is not None}


def time_mismatch(spent: float, limit: float) -> str:
    """Why a trial took longer or shorter than its budget; empty where it did not."""
    busy = "the machine was {} busy than when its steps were timed"
    if spent > TOLERANCE * limit:
        return f"even its smallest version does not fit, or {busy.format('more')}"
    if spent * TOLERANCE < limit:
        return f"the whole recipe is shorter, {NO_BETTER}, or {busy.format('less')}"
    return ""


def count_mismatch(made: float, limit: float, unit: str, shorter: str = "") -> str:
    """Why a trial made more or fewer steps, or read more or fewer examples, than its budget; empty where it did not."""
    if made > COUNT_TOLERANCE * limit:
        return f"every task has at least one {unit} in every epoch"
    if made * COUNT_TOLERANCE < limit:
        return f"{shorter}{NO_BETTER}, or its epochs do not divide the budget evenly"
    return ""


def step_caveats(done: Sequence[TrialResult], limits: Mapping[str, Budget], ranked: Sequence[str]) -> Iterator[str]:
    """Under equal steps, or none: recipes whose steps read more than those of the first, the baseline."""
    costs = {label: cost for label, cost in mean_costs(done).items() if label in ranked and cost.steps}
    baseline = costs.get(ranked[0]) if ranked else None
    limit = limits.get(ranked[0], Budget()) if ranked else Budget()
    if baseline is None or limit.seconds or limit.examples:
        return
    not_equal = "equal steps are not equal data" if limit.steps else "whole recipes do not read equal data"
    for label, cost in costs.items():
        ratios = {
            unit: (own / cost.steps) / (base / baseline.steps)
            for unit, own, base in (
                ("examples", cost.examples, baseline.examples),
                ("tokens", cost.tokens, baseline.tokens),
            )
            if own and base
        }
        more = [f"{ratio:.1f} times as many {unit}" for unit, ratio in ratios.items() if ratio > TOLERANCE]
        if more:
            yield f"A step of {label} reads {' and '.join(more)} as one of {ranked[0]}: {not_equal}."


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
