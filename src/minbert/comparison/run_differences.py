"""(two groups of runs, one run per seed, on the same dev rows) -> the difference between them, on any measure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from minbert.comparison.results import OVERALL, Gain, ScoreDifference, Summary, Transfer, TrialResult
from minbert.comparison.statistics import (
    Evidence,
    PairedScores,
    difference_evidence,
    judge_differences,
    score_pairs,
    summarize,
    weighted_sum,
)
from minbert.config.overall_terms import DeclaredOverall, split_measure
from minbert.config.task import TASK_METRICS, Task
from minbert.data.metrics import Array, direction
from minbert.data.overall_score import overall
from minbert.errors import UserError
from minbert.runs.predictions import DevPredictions, read_dev_predictions

# seed: folder of the run, relative to the comparison's
Runs = Mapping[int, str]
GroupKey = TypeVar("GroupKey", bound=Hashable)
# the overall score of a recipe without [overall]
MAIN_METRICS: DeclaredOverall = MappingProxyType({})


@dataclass(frozen=True)
class Question:
    """Are these trials better than those, on one measure?"""

    measure: str
    these: Sequence[TrialResult]
    those: Sequence[TrialResult]


# ---- predictions and scores ---------------------------------------------------------------------------


class PredictionsCache:
    """The predictions of runs for the same dev rows; each file is read once, and only one run's texts are kept."""

    def __init__(self, folder: Path, places: Mapping[tuple[str, str], str] = MappingProxyType({})) -> None:
        """`places`: (run, task): the folder of these predictions, where it is not the run's."""
        self.folder = folder
        self.places = places
        self.first: dict[str, tuple[str, DevPredictions]] = {}
        self.known: dict[tuple[str, str], DevPredictions] = {}

    def read(self, run: str, task: str) -> DevPredictions:
        """Without the texts."""
        if (run, task) not in self.known:
            read = read_dev_predictions(self.folder / self.places.get((run, task), run), task)
            check_same_dev_rows(task, *self.first.setdefault(task, (run, read)), run, read)
            self.known[run, task] = replace(read, ids=[], texts=())
        return self.known[run, task]

    def of(self, run: str, task: str, metric: str) -> Array:
        return self.read(run, task).for_metric(metric)

    def labels(self, task: str) -> Array:
        return self.first[task][1].labels


def check_same_dev_rows(task: str, first: str, one: DevPredictions, second: str, other: DevPredictions) -> None:
    if one.task.choices != other.task.choices:
        reason = "have other labels or another range"
    elif len(one.labels) != len(other.labels):
        reason = f"are {len(other.labels)}, not {len(one.labels)}"
    elif one.texts == other.texts and np.array_equal(one.labels, other.labels):
        return
    else:
        ours, theirs = (zip(*each.texts, each.labels, strict=True) for each in (one, other))
        row = next(i for i, (here, there) in enumerate(zip(ours, theirs, strict=True), 1) if here != there)
        reason = f"differ in row {row}"
    raise UserError(
        f"{second}: its dev rows of task '{task}' {reason}: they are not those of {first}, so scores do not compare.",
        "Train both on the same data.",
    )


def tasks_of(result: TrialResult, tasks: Mapping[str, Task]) -> list[str]:
    return [name for name in tasks if name in result.scores]


def value_of(
    result: TrialResult, measure: str, tasks: Mapping[str, Task], declared: DeclaredOverall = MAIN_METRICS
) -> float | None:
    """The score of a trial on a measure; None if it lacks a task of the measure."""
    if measure == OVERALL:
        scores = {name: result.scores[name] for name in tasks_of(result, tasks)}
        return overall(scores, tasks, declared) if scores and len(scores) == len(tasks) else None
    task, metric = split_measure(measure)
    return result.scores.get(task, {}).get(metric)


def summary_of(
    results: Iterable[TrialResult], measure: str, tasks: Mapping[str, Task], declared: DeclaredOverall = MAIN_METRICS
) -> Summary | None:
    """Over seeds, in the order of the seeds."""
    values = {
        each.seed: value_of(each, measure, tasks, declared) for each in sorted(results, key=lambda each: each.seed)
    }
    known = {seed: value for seed, value in values.items() if value is not None}
    return summarize(known) if known else None


def main_measures(tasks: Mapping[str, Task]) -> list[str]:
    return [f"{name}.{task.metric}" for name, task in tasks.items()]


def overall_parts(
    tasks: Mapping[str, Task], declared: DeclaredOverall = MAIN_METRICS
) -> tuple[float, dict[tuple[str, str], float]]:
    """`overall` as a constant and weights of metrics, found by calling it, so that the two always agree."""
    zeros = {name: dict.fromkeys(TASK_METRICS[task.kind], 0.0) for name, task in tasks.items()}
    constant = overall(zeros, tasks, declared)
    weights = {
        (name, metric): overall(zeros | {name: zeros[name] | {metric: 1.0}}, tasks, declared) - constant
        for name, found in zeros.items()
        for metric in found
    }
    return constant, {part: weight for part, weight in weights.items() if abs(weight) > 1e-9}


def overall_pairs(
    found: Mapping[tuple[str, str], PairedScores], tasks: Mapping[str, Task], declared: DeclaredOverall = MAIN_METRICS
) -> PairedScores:
    """The scores of all tasks as one measure. Rows of different tasks are resampled independently, so sums work."""
    constant, weights = overall_parts(tasks, declared)
    # paired scores have signs such that more is better; weights belong to the metrics themselves
    return weighted_sum([(weight * direction(part[1]), found[part]) for part, weight in weights.items()], constant)


# ---- differences --------------------------------------------------------------------------------------


def gather_evidence(
    compared: Mapping[GroupKey, tuple[Runs, Runs]],
    measures: Sequence[str],
    tasks: Mapping[str, Task],
    cache: PredictionsCache,
    declared: DeclaredOverall = MAIN_METRICS,
) -> dict[tuple[GroupKey, str], Evidence]:
    """Each two groups of runs on every measure, over the seeds that both have; all runs have all tasks."""
    pairs: list[tuple[str, str]] = []
    columns: dict[GroupKey, range] = {}
    for key, (these, those) in compared.items():
        seeds = sorted(these.keys() & those.keys())
        columns[key] = range(len(pairs), len(pairs) + len(seeds))
        pairs += [(these[seed], those[seed]) for seed in seeds]
    if not pairs:
        return {}
    whole = list(overall_parts(tasks, declared)[1])
    parts = {name: whole if name == OVERALL else [split_measure(name)] for name in measures}
    found = {
        (task, metric): pairs_on(task, metric, pairs, cache)
        for task, metric in dict.fromkeys(part for each in parts.values() for part in each)
    }
    on = {name: found[split_measure(name)] for name in measures if name != OVERALL}
    if OVERALL in measures:
        on[OVERALL] = overall_pairs(found, tasks, declared)
    best_is_one = {name: all(direction(metric) == 1 for _, metric in parts[name]) for name in measures}
    return {
        (key, name): difference_evidence(on[name].take(at), best_is_one[name], name)
        for key, at in columns.items()
        for name in measures
        if at
    }


def pairs_on(task: str, metric: str, pairs: Sequence[tuple[str, str]], cache: PredictionsCache) -> PairedScores:
    number = {run: i for i, run in enumerate(dict.fromkeys(run for pair in pairs for run in pair))}
    predictions = [cache.of(run, task, metric) for run in number]
    places = [(number[this], number[that]) for this, that in pairs]
    # seeded by the task's name: independent between tasks, and the same whatever else is compared
    return score_pairs(metric, cache.labels(task), predictions, places, seed=[*task.encode()])


def differences_between(
    questions: Mapping[GroupKey, Question],
    tasks: Mapping[str, Task],
    folder: Path,
    declared: DeclaredOverall = MAIN_METRICS,
) -> dict[GroupKey, ScoreDifference]:
    """Differences of any groups of trials, tested together; a question whose groups share no seed is left out.

    "overall" covers all `tasks`. Runs whose dev rows differ are refused.
    """
    cache, found = PredictionsCache(folder), dict[GroupKey, Evidence]()
    for key, question in questions.items():
        these, those = (
            {each.seed: each.run for each in group if value_of(each, question.measure, tasks, declared) is not None}
            for group in (finished(question.these), finished(question.those))
        )
        evidence = gather_evidence({key: (these, those)}, [question.measure], tasks, cache, declared)
        for each in evidence.values():
            found[key] = each
    return dict(zip(found, judge_differences(list(found.values())), strict=True))


def finished(results: Iterable[TrialResult]) -> list[TrialResult]:
    return [each for each in results if each.state == "finished"]


# ---- transfer between tasks ---------------------------------------------------------------------------


def sharing_gains(
    alone: Mapping[str, Sequence[TrialResult]], together: Sequence[TrialResult], tasks: Mapping[str, Task], folder: Path
) -> tuple[Gain, ...]:
    """`alone`: trials of each task alone. Tasks without a comparable result are left out."""
    measure = dict(zip(tasks, main_measures(tasks), strict=True))
    questions = {name: Question(measure[name], together, alone[name]) for name in tasks if name in alone}
    found = []
    for name, difference in differences_between(questions, tasks, folder).items():
        single, joint = (summary_of(finished(each), measure[name], tasks) for each in (alone[name], together))
        assert single is not None and joint is not None
        found.append(Gain(name, single, joint, difference))
    return tuple(found)


def task_transfers(
    alone: Mapping[str, Sequence[TrialResult]],
    shared: Mapping[tuple[str, str, str], Sequence[TrialResult]],
    tasks: Mapping[str, Task],
    folder: Path,
) -> tuple[Transfer, ...]:
    """`shared`: trials by (source, target, "with" or "then"), to be compared with those of the target alone."""
    measure = dict(zip(tasks, main_measures(tasks), strict=True))
    questions = {
        (source, target, how): Question(measure[target], results, alone[target])
        for (source, target, how), results in shared.items()
        if target in alone and target in tasks
    }
    return tuple(Transfer(*key, each) for key, each in differences_between(questions, tasks, folder).items())
