"""(two groups of runs, one a seed, on the very same dev rows) -> the difference between them, on any measure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from minbert.comparison.results import OVERALL, Gain, ScoreDifference, Summary, Transfer, TrialResult
from minbert.comparison.statistics import Evidence, Pairs, add_up, evidence, judged, pair_up, summarize
from minbert.config.overall import DeclaredOverall, split_measure
from minbert.config.task import TASK_METRICS, Task
from minbert.data.metrics import Array, direction
from minbert.data.overall import overall
from minbert.errors import UserError
from minbert.runs.predictions import DevPredictions, read_dev_predictions

# seed: folder of the run, below the comparison's
Runs = Mapping[int, str]
Key = TypeVar("Key", bound=Hashable)
# the main metric of each task with weight 1
DEFAULT_OVERALL: DeclaredOverall = MappingProxyType({})


@dataclass(frozen=True)
class Question:
    """Are these trainings better than those, on one measure?"""

    measure: str
    these: Sequence[TrialResult]
    those: Sequence[TrialResult]


# ---- what was answered --------------------------------------------------------------------------------


class DevAnswers:
    """The answers of runs to the very same dev rows; each file is read once, only the first run's texts are kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first: dict[str, tuple[str, DevPredictions]] = {}
        self.known: dict[tuple[str, str], Array] = {}

    def of(self, run: str, task: str) -> Array:
        if (run, task) not in self.known:
            read = read_dev_predictions(self.folder / run, task)
            check_same_rows(task, *self.first.setdefault(task, (run, read)), run, read)
            self.known[run, task] = read.answers
        return self.known[run, task]

    def labels(self, task: str) -> Array:
        return self.first[task][1].labels


def check_same_rows(task: str, first: str, one: DevPredictions, second: str, other: DevPredictions) -> None:
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
    result: TrialResult, measure: str, tasks: Mapping[str, Task], declared: DeclaredOverall = DEFAULT_OVERALL
) -> float | None:
    """A result on a measure; nothing where it lacks a task."""
    if measure == OVERALL:
        scores = {name: result.scores[name] for name in tasks_of(result, tasks)}
        return overall(scores, tasks, declared) if scores and len(scores) == len(tasks) else None
    task, metric = split_measure(measure)
    return result.scores.get(task, {}).get(metric)


def summary_of(
    results: Iterable[TrialResult], measure: str, tasks: Mapping[str, Task], declared: DeclaredOverall = DEFAULT_OVERALL
) -> Summary | None:
    """Over seeds, in their order, whatever the order of the results."""
    values = {
        each.seed: value_of(each, measure, tasks, declared) for each in sorted(results, key=lambda each: each.seed)
    }
    known = {seed: value for seed, value in values.items() if value is not None}
    return summarize(known) if known else None


def main_measures(tasks: Mapping[str, Task]) -> list[str]:
    return [f"{name}.{task.metric}" for name, task in tasks.items()]


def overall_parts(
    tasks: Mapping[str, Task], declared: DeclaredOverall = DEFAULT_OVERALL
) -> tuple[float, dict[tuple[str, str], float]]:
    """`overall` is a constant and a weighted sum of metrics: found by asking it, so that the two agree."""
    zeros = {name: dict.fromkeys(TASK_METRICS[task.kind], 0.0) for name, task in tasks.items()}
    constant = overall(zeros, tasks, declared)
    weights = {
        (name, metric): overall(zeros | {name: zeros[name] | {metric: 1.0}}, tasks, declared) - constant
        for name, found in zeros.items()
        for metric in found
    }
    return constant, {part: weight for part, weight in weights.items() if abs(weight) > 1e-9}


def overall_pairs(
    found: Mapping[tuple[str, str], Pairs], tasks: Mapping[str, Task], declared: DeclaredOverall = DEFAULT_OVERALL
) -> Pairs:
    """The tasks' pairs as one measure. Their rows were resampled independently, so the resamples just add up."""
    constant, weights = overall_parts(tasks, declared)
    # pairs are turned so that more is better; weights are of metrics as they are
    return add_up([(weight * direction(part[1]), found[part]) for part, weight in weights.items()], constant)


# ---- differences --------------------------------------------------------------------------------------


def weigh(
    compared: Mapping[Key, tuple[Runs, Runs]],
    measures: Sequence[str],
    tasks: Mapping[str, Task],
    answers: DevAnswers,
    declared: DeclaredOverall = DEFAULT_OVERALL,
) -> dict[tuple[Key, str], Evidence]:
    """Each two groups of runs on every measure, over the seeds that both have; all runs have all tasks."""
    pairs: list[tuple[str, str]] = []
    columns: dict[Key, range] = {}
    for key, (these, those) in compared.items():
        seeds = sorted(these.keys() & those.keys())
        columns[key] = range(len(pairs), len(pairs) + len(seeds))
        pairs += [(these[seed], those[seed]) for seed in seeds]
    if not pairs:
        return {}
    parts = {
        name: [split_measure(name)] if name != OVERALL else list(overall_parts(tasks, declared)[1]) for name in measures
    }
    found = {
        (task, metric): pairs_on(task, metric, pairs, answers)
        for task, metric in dict.fromkeys(part for each in parts.values() for part in each)
    }
    on = {
        name: overall_pairs(found, tasks, declared) if name == OVERALL else found[split_measure(name)]
        for name in measures
    }
    best_is_one = {name: all(direction(metric) == 1 for _, metric in parts[name]) for name in measures}
    return {
        (key, name): evidence(on[name].take(at), best_is_one[name])
        for key, at in columns.items()
        for name in measures
        if at
    }


def pairs_on(task: str, metric: str, pairs: Sequence[tuple[str, str]], answers: DevAnswers) -> Pairs:
    number = {run: i for i, run in enumerate(dict.fromkeys(run for pair in pairs for run in pair))}
    given = [answers.of(run, task) for run in number]
    places = [(number[this], number[that]) for this, that in pairs]
    # rows are drawn by the task's name: independently of those of other tasks, the same in whatever company
    return pair_up(metric, answers.labels(task), given, places, seed=[*task.encode()])


def differences_between(
    questions: Mapping[Key, Question],
    tasks: Mapping[str, Task],
    folder: Path,
    declared: DeclaredOverall = DEFAULT_OVERALL,
) -> dict[Key, ScoreDifference]:
    """Differences of any groups of trainings, tested together; one without a seed that both have is left out.

    "overall" is of all `tasks`. Runs whose dev rows are not the same are refused.
    """
    answers, found = DevAnswers(folder), dict[Key, Evidence]()
    for key, asked in questions.items():
        these, those = (
            {each.seed: each.run for each in group if value_of(each, asked.measure, tasks, declared) is not None}
            for group in (finished(asked.these), finished(asked.those))
        )
        for each in weigh({key: (these, those)}, [asked.measure], tasks, answers, declared).values():
            found[key] = each
    return dict(zip(found, judged(list(found.values())), strict=True))


def finished(results: Iterable[TrialResult]) -> list[TrialResult]:
    return [each for each in results if each.state == "finished"]


# ---- does sharing help? -------------------------------------------------------------------------------


def gains(
    alone: Mapping[str, Sequence[TrialResult]], together: Sequence[TrialResult], tasks: Mapping[str, Task], folder: Path
) -> tuple[Gain, ...]:
    """`alone`: task: trainings on it alone. Tasks that nothing is known of are left out."""
    measure = dict(zip(tasks, main_measures(tasks), strict=True))
    questions = {name: Question(measure[name], together, alone[name]) for name in tasks if name in alone}
    found = []
    for name, difference in differences_between(questions, tasks, folder).items():
        apart, joined = (summary_of(finished(each), measure[name], tasks) for each in (alone[name], together))
        assert apart is not None and joined is not None
        found.append(Gain(name, apart, joined, difference))
    return tuple(found)


def transfers(
    alone: Mapping[str, Sequence[TrialResult]],
    shared: Mapping[tuple[str, str, str], Sequence[TrialResult]],
    tasks: Mapping[str, Task],
    folder: Path,
) -> tuple[Transfer, ...]:
    """`shared`: (source, target, "with" or "then"): trainings, to be compared with those on the target alone."""
    measure = dict(zip(tasks, main_measures(tasks), strict=True))
    questions = {
        (source, target, how): Question(measure[target], results, alone[target])
        for (source, target, how), results in shared.items()
        if target in alone and target in tasks
    }
    return tuple(Transfer(*key, each) for key, each in differences_between(questions, tasks, folder).items())
