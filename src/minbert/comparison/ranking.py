"""(the results of a comparison, its runs) -> which recipe is better on what, and how sure that is."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert.comparison.contrasts import (
    DEFAULT_OVERALL,
    DevAnswers,
    Runs,
    finished,
    main_measures,
    summary_of,
    tasks_of,
    weigh,
)
from minbert.comparison.results import OVERALL, Curve, ScoreDifference, System, TrialCost, TrialResult
from minbert.comparison.statistics import Evidence, judged
from minbert.config.overall import DeclaredOverall, OverallTerm, overall_terms
from minbert.config.task import Task
from minbert.errors import UserError
from minbert.files import differences
from minbert.runs.directory import read_run

# what makes no other way to learn: the seed is varied, the share makes budgets equal
NOT_COMPARED = ("seed", "epoch_fraction", "about")


@dataclass(frozen=True)
class Ranking:
    """The parts of Findings that are statistics."""

    measures: tuple[str, ...]
    seeds: tuple[int, ...]
    systems: tuple[System, ...]
    complete: bool
    tested: int
    overall: Mapping[str, OverallTerm]


# ---- a whole comparison -------------------------------------------------------------------------------


def rank_systems(
    results: Sequence[TrialResult],
    labels: Sequence[str],
    baseline: str,
    tasks: Mapping[str, Task],
    folder: Path,
    declared: DeclaredOverall = DEFAULT_OVERALL,
) -> Ranking:
    """Every recipe on every measure, the best first, each against the baseline. The results may be in any order."""
    # a task that nobody was measured on only trains
    measured = {name: task for name, task in tasks.items() if any(name in each.scores for each in finished(results))}
    measured = measured or dict(tasks)
    terms = overall_terms({} if is_main_metric(overall_terms(declared, measured), measured) else declared, measured)
    measures = (*main_measures(measured), OVERALL)
    seeds = tuple(sorted({each.seed for each in results}))
    answers = DevAnswers(folder)
    trials = {label: sorted((r for r in results if r.label == label), key=lambda r: r.seed) for label in labels}
    # the baseline first: its rows are those that others are held against
    sound = {label: soundness(trials[label], measured, answers) for label in sorted(labels, key=baseline.__ne__)}
    found = judge_all({label: sound[label][0] for label in labels}, baseline, measured, answers, terms)
    tested = len(found)
    if is_main_metric(terms, measured):
        # the same number by another name: tested once
        found |= {(label, OVERALL): each for (label, _), each in found.items()}
    recipes = {label: recipe_of(trials[label], folder) for label in labels}
    systems = []
    for label in labels:
        good, failed = sound[label]
        summaries = {name: summary_of(good, name, measured, terms) for name in measures}
        curves, cosines = curves_of([folder / each.run for each in good], measures)
        system = System(
            label=label,
            about=str(recipes[label].get("about", "")),
            changes=changes(recipes[baseline], recipes[label]),
            seeds=tuple(each.seed for each in good),
            failed=failed,
            missing=tuple(seed for seed in seeds if seed not in failed and seed not in [each.seed for each in good]),
            summaries={name: each for name, each in summaries.items() if each is not None},
            differences={name: found[label, name] for name in measures if (label, name) in found},
            cost=mean_cost([each.cost for each in good if each.cost is not None]),
            curves=curves,
            cosines=cosines,
            runs={each.seed: each.run for each in good},
        )
        systems.append(system)
    complete = all(len(each.seeds) == len(seeds) for each in systems)
    return Ranking(measures, seeds, tuple(sorted(systems, key=rank)), complete, tested, terms)


def is_main_metric(declared: DeclaredOverall, tasks: Mapping[str, Task]) -> bool:
    """Whether the overall score is the main metric of the only task: the same number by another name."""
    return len(tasks) == 1 and list(declared) in ([], main_measures(tasks))


def rank(system: System) -> float:
    """The best first; those without a result last."""
    found = system.summaries.get(OVERALL)
    return float("inf") if found is None or np.isnan(found.mean) else -found.mean


def soundness(
    trials: Iterable[TrialResult], tasks: Mapping[str, Task], answers: DevAnswers
) -> tuple[list[TrialResult], dict[int, str]]:
    """The trainings of a recipe whose answers can be compared; why the others cannot."""
    good, failed = [], {}
    for each in trials:
        if each.state == "finished":
            try:
                for task in tasks_of(each, tasks):
                    answers.of(each.run, task)
                good.append(each)
            except UserError as wrong:
                failed[each.seed] = wrong.problem
        elif each.state != "missing":
            failed[each.seed] = each.reason
    return good, failed


def judge_all(
    good: Mapping[str, Sequence[TrialResult]],
    baseline: str,
    tasks: Mapping[str, Task],
    answers: DevAnswers,
    declared: DeclaredOverall = DEFAULT_OVERALL,
) -> dict[tuple[str, str], ScoreDifference]:
    """(label, measure): difference. A recipe of fewer tasks is compared on those, and not overall."""
    alike: dict[tuple[str, ...], dict[str, tuple[Runs, Runs]]] = {}
    for label, results in good.items():
        both = [*results, *good[baseline]]
        shared = tuple(name for name in tasks if all(name in each.scores for each in both))
        runs = [{each.seed: each.run for each in group} for group in (results, good[baseline])]
        if label != baseline:
            alike.setdefault(shared, {})[label] = (runs[0], runs[1])
    found: dict[tuple[str, str], Evidence] = {}
    for names, compared in alike.items():
        some = {name: tasks[name] for name in names}
        whole = [OVERALL] if len(some) == len(tasks) and not is_main_metric(declared, tasks) else []
        found |= weigh(compared, [*main_measures(some), *whole], some, answers, declared)
    return dict(zip(found, judged(list(found.values())), strict=True))


def recipe_of(trials: Iterable[TrialResult], folder: Path) -> dict[str, Any]:
    """The recipe as it was resolved, from the first run that has begun."""
    begun = (folder / each.run for each in trials if each.run and (folder / each.run / "run.json").is_file())
    return next((dict(read_run(run).get("recipe", {})) for run in begun), {})


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    if not then or not now:
        return ()
    old, new = ({name: value for name, value in each.items() if name not in NOT_COMPARED} for each in (then, now))
    return tuple((name, str(before), str(after)) for name, before, after in differences(old, new))


def mean_cost(costs: Sequence[TrialCost]) -> TrialCost | None:
    if not costs:
        return None
    seconds, steps, tokens, total, trainable, memory, size = np.mean([astuple(each) for each in costs], axis=0).tolist()
    return TrialCost(seconds, steps, tokens, round(total), round(trainable), memory, size)


# ---- over training ------------------------------------------------------------------------------------


def curves_of(runs: Iterable[Path], measures: Sequence[str]) -> tuple[dict[str, Curve], dict[tuple[str, str], Curve]]:
    """Each measure, and each pair's cosine of gradients, over the steps of some runs."""
    scores: dict[str, list[dict[float, float]]] = {}
    cosines: dict[str, list[dict[float, float]]] = {}
    for run in runs:
        points: dict[str, dict[float, float]] = {}
        angles: dict[str, dict[float, float]] = {}
        for row in log_of(run):
            found = {
                f"{task}.{name}": value for task, by in row.get("scores", {}).items() for name, value in by.items()
            }
            found |= {OVERALL: row["overall"]} if "overall" in row else {}
            for name in measures:
                if name in found:
                    points.setdefault(name, {})[row["step"]] = found[name]
            for name, value in row.get("cosines", {}).items():
                angles.setdefault(name, {})[row["step"]] = value
        for into, new in ((scores, points), (cosines, angles)):
            for name, each in new.items():
                into.setdefault(name, []).append(each)
    pairs = {(name.partition(" ")[0], name.partition(" ")[2]): band(each) for name, each in cosines.items()}
    return {name: band(scores[name]) for name in measures if name in scores}, pairs


def log_of(run: Path) -> Iterator[dict[str, Any]]:
    """The measurements in a run's log; most lines are steps, which nobody reads here."""
    path = run / "metrics.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if '"scores"' in line or '"cosines"' in line:
            yield json.loads(line)


def band(seeds: Sequence[Mapping[float, float]]) -> Curve:
    """The mean with one standard deviation on either side, at every step at which a seed was measured.

    Seeds that were not measured there, but before and after, count with what lies between.
    """
    steps = np.array(sorted({step for points in seeds for step in points}), dtype=float)
    values_SP = np.array(
        [np.interp(steps, list(points), list(points.values()), left=np.nan, right=np.nan) for points in seeds]
    )
    mean_P = np.nanmean(values_SP, axis=0)
    count_P = (~np.isnan(values_SP)).sum(0)
    sd_P = np.sqrt(np.nansum((values_SP - mean_P) ** 2, axis=0) / np.maximum(count_P - 1, 1))
    return Curve(*(tuple(each.tolist()) for each in (steps, mean_P, mean_P - sd_P, mean_P + sd_P)))
