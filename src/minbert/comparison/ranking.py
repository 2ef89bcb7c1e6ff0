"""(the results of a comparison, its runs) -> which recipe is better on which measure, and how certain that is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from minbert.comparison.results import OVERALL, ScoreDifference, System, TrialCost, TrialResult
from minbert.comparison.run_differences import (
    MAIN_METRICS,
    PredictionsCache,
    Runs,
    finished,
    gather_evidence,
    main_measures,
    summary_of,
    tasks_of,
)
from minbert.comparison.statistics import Evidence, judge_differences
from minbert.comparison.training_curves import training_curves
from minbert.config.overall_terms import DeclaredOverall, OverallTerm, overall_terms
from minbert.config.task import Task
from minbert.errors import UserError
from minbert.files import differences
from minbert.runs.directory import read_run

# not a difference between recipes: the seed varies, the fraction makes budgets equal
NOT_COMPARED = ("seed", "epoch_fraction", "about", "deviations")


@dataclass(frozen=True)
class Ranking:
    """The parts of ComparisonResults that are statistics."""

    measures: tuple[str, ...]
    seeds: tuple[int, ...]
    systems: tuple[System, ...]
    complete: bool
    tested: int
    # "task.metric": what it counts in the overall score
    overall: Mapping[str, OverallTerm]


@dataclass(frozen=True)
class SystemTrials:
    """The trials of one recipe."""

    label: str
    # those that can be compared, in the order of their seeds; and by seed, why the others cannot
    comparable: list[TrialResult]
    failed: dict[int, str]
    # the resolved config of its first run
    config: dict[str, Any]


def rank_systems(
    results: Sequence[TrialResult],
    labels: Sequence[str],
    baseline: str,
    tasks: Mapping[str, Task],
    folder: Path,
    declared: DeclaredOverall = MAIN_METRICS,
) -> Ranking:
    """Every recipe on every measure, the best first, each compared with the baseline. Results may be in any order."""
    # a task without scores only trains the encoder
    measured = {name: task for name, task in tasks.items() if any(name in each.scores for each in finished(results))}
    measured = measured or dict(tasks)
    terms = ranking_terms(declared, measured)
    seeds = tuple(sorted({each.seed for each in results}))
    cache = PredictionsCache(folder)
    # the baseline first: its dev rows are the reference for the others
    order = sorted(labels, key=baseline.__ne__)
    groups = {label: group_trials(results, label, measured, folder, cache) for label in order}
    good = {label: groups[label].comparable for label in labels}
    found = differences_from_baseline(good, baseline, measured, cache, terms)
    tested = len(found)
    if is_main_metric(terms, measured):
        # the same number under another name, tested once
        found |= {(label, OVERALL): each for (label, _), each in found.items()}
    config = groups[baseline].config
    systems = []
    for label in labels:
        own = {measure: each for (name, measure), each in found.items() if name == label}
        systems.append(make_system(groups[label], config, seeds, measured, terms, own, folder))
    complete = all(len(each.seeds) == len(seeds) for each in systems)
    measures = (*main_measures(measured), OVERALL)
    return Ranking(measures, seeds, tuple(sorted(systems, key=rank_key)), complete, tested, terms)


def group_trials(
    results: Iterable[TrialResult], label: str, tasks: Mapping[str, Task], folder: Path, cache: PredictionsCache
) -> SystemTrials:
    trials = sorted((each for each in results if each.label == label), key=lambda each: each.seed)
    comparable, failed = comparable_results(trials, tasks, cache)
    return SystemTrials(label, comparable, failed, config_of_runs(trials, folder))


def ranking_terms(declared: DeclaredOverall, tasks: Mapping[str, Task]) -> dict[str, OverallTerm]:
    """The terms of the overall score of these tasks; of a single metric, without a transform."""
    terms = overall_terms(declared, tasks)
    return overall_terms({}, tasks) if is_main_metric(terms, tasks) else terms


def is_main_metric(terms: Mapping[str, Any], tasks: Mapping[str, Task]) -> bool:
    """Whether the overall score is the main metric of the only task: the same number under another name."""
    return len(tasks) == 1 and list(terms) in ([], main_measures(tasks))


def make_system(
    trials: SystemTrials,
    baseline: Mapping[str, Any],
    seeds: Sequence[int],
    tasks: Mapping[str, Task],
    terms: Mapping[str, OverallTerm],
    found: Mapping[str, ScoreDifference],
    folder: Path,
) -> System:
    """`baseline`: the resolved config of the baseline; `found`: differences from it, by measure."""
    good, measures = trials.comparable, (*main_measures(tasks), OVERALL)
    summaries = {name: summary_of(good, name, tasks, terms) for name in measures}
    curves, cosines = training_curves([folder / each.run for each in good], measures)
    done = tuple(each.seed for each in good)
    return System(
        label=trials.label,
        about=str(trials.config.get("about", "")),
        changes=recipe_changes(baseline, trials.config),
        seeds=done,
        failed=trials.failed,
        missing=tuple(seed for seed in seeds if seed not in trials.failed and seed not in done),
        summaries={name: each for name, each in summaries.items() if each is not None},
        differences={name: found[name] for name in measures if name in found},
        cost=mean_cost([each.cost for each in good if each.cost is not None]),
        curves=curves,
        cosines=cosines,
        runs={each.seed: each.run for each in good},
    )


def rank_key(system: System) -> float:
    """The best first; those without a result last."""
    found = system.summaries.get(OVERALL)
    return float("inf") if found is None or np.isnan(found.mean) else -found.mean


def comparable_results(
    trials: Iterable[TrialResult], tasks: Mapping[str, Task], cache: PredictionsCache
) -> tuple[list[TrialResult], dict[int, str]]:
    """The trials of a recipe whose predictions can be compared; and by seed, why the others cannot."""
    good, failed = [], {}
    for each in trials:
        if each.state == "finished":
            try:
                for task in tasks_of(each, tasks):
                    cache.of(each.run, task, tasks[task].metric)
                good.append(each)
            except UserError as wrong:
                failed[each.seed] = wrong.problem
        elif each.state != "missing":
            failed[each.seed] = each.reason
    return good, failed


def differences_from_baseline(
    good: Mapping[str, Sequence[TrialResult]],
    baseline: str,
    tasks: Mapping[str, Task],
    cache: PredictionsCache,
    declared: DeclaredOverall = MAIN_METRICS,
) -> dict[tuple[str, str], ScoreDifference]:
    """(label, measure): difference. A recipe with fewer tasks is compared on those, and not overall."""
    groups: dict[tuple[str, ...], dict[str, tuple[Runs, Runs]]] = {}
    for label, results in good.items():
        both = [*results, *good[baseline]]
        shared = tuple(name for name in tasks if all(name in each.scores for each in both))
        runs = [{each.seed: each.run for each in group} for group in (results, good[baseline])]
        if label != baseline:
            groups.setdefault(shared, {})[label] = (runs[0], runs[1])
    found: dict[tuple[str, str], Evidence] = {}
    for names, compared in groups.items():
        some = {name: tasks[name] for name in names}
        whole = [OVERALL] if len(some) == len(tasks) and not is_main_metric(declared, tasks) else []
        found |= gather_evidence(compared, [*main_measures(some), *whole], some, cache, declared)
    return dict(zip(found, judge_differences(list(found.values())), strict=True))


def config_of_runs(trials: Iterable[TrialResult], folder: Path) -> dict[str, Any]:
    """The resolved config of the first run that has started."""
    started = (folder / each.run for each in trials if each.run and (folder / each.run / "run.json").is_file())
    return next((dict(read_run(run).get("recipe", {})) for run in started), {})


def recipe_changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """(setting, old value, new value) for each setting that differs."""
    if not then or not now:
        return ()
    old, new = ({name: value for name, value in each.items() if name not in NOT_COMPARED} for each in (then, now))
    return tuple((name, str(before), str(after)) for name, before, after in differences(old, new))


def mean_cost(costs: Sequence[TrialCost]) -> TrialCost | None:
    if not costs:
        return None
    found = TrialCost(*np.mean([astuple(each) for each in costs], axis=0).tolist())
    return replace(found, total=round(found.total), trainable=round(found.trainable))
