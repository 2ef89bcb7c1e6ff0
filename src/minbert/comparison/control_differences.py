"""(ranked systems, the predictions of their controls) -> which controls each system does not beat.

A control is the same for every seed, so what varies over seeds is the system alone. All differences of this kind are
tested together, and not with those between recipes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minbert.comparison.controls import control_places
from minbert.comparison.ranking import Ranking, is_main_metric
from minbert.comparison.results import OVERALL, Control, ScoreDifference, TrialResult
from minbert.comparison.run_differences import PredictionsCache, Runs, gather_evidence, main_measures, value_of
from minbert.comparison.statistics import Evidence, judge_differences
from minbert.config.overall_terms import OverallTerm
from minbert.config.task import Task
from minbert.data.metrics import score
from minbert.errors import UserError
from minbert.runs.directory import read_run
from minbert.runs.outcomes import CONSTANT, PROBE

# ((label, id of the control), measure)
ControlQuestion = tuple[tuple[str, str], str]
NOT_MEASURED = "not measured yet. The same command measures it"


@dataclass(frozen=True)
class ControlledSystem:
    """Runs that have controls: one for each seed, all with these tasks."""

    label: str
    runs: Runs
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredTasks:
    """The tasks that are compared, the measures on them, and the terms of the overall score."""

    tasks: Mapping[str, Task]
    measures: Sequence[str]
    overall: Mapping[str, OverallTerm] = field(default_factory=dict)

    @property
    def has_overall(self) -> bool:
        """Whether the overall score is a number of its own."""
        return OVERALL in self.measures and not is_main_metric(self.overall, self.tasks)


@dataclass
class ControlGroup:
    """A control with the systems that it is a control of: all, unless their data, weights or lengths differ."""

    kind: str
    # task: folder of its predictions
    places: dict[str, str]
    labels: list[str]
    scores: dict[str, dict[str, float]]

    @property
    def id(self) -> str:
        """Names it among the runs of a comparison."""
        return f"{self.kind} of {self.labels[0]}"

    def as_result(self) -> TrialResult:
        return TrialResult("", self.id, 0, "finished", scores=self.scores)


def ranked_controls(
    ranking: Ranking, baseline: str, tasks: Mapping[str, Task], folder: Path, failed: Mapping[str, TrialResult]
) -> tuple[tuple[Control, ...], tuple[str, ...]]:
    """The controls of ranked systems, the baseline's first, and sentences on those that are missing."""
    measured = {name: task for name, task in tasks.items() if f"{name}.{task.metric}" in ranking.measures}
    systems = [
        ControlledSystem(
            each.label,
            each.runs,
            tuple(name for name, task in measured.items() if f"{name}.{task.metric}" in each.summaries),
        )
        for each in sorted(ranking.systems, key=lambda each: each.label != baseline)
        if each.runs
    ]
    return compare_with_controls(systems, MeasuredTasks(measured, ranking.measures, ranking.overall), folder, failed)


def compare_with_controls(
    systems: Sequence[ControlledSystem], measured: MeasuredTasks, folder: Path, failed: Mapping[str, TrialResult]
) -> tuple[tuple[Control, ...], tuple[str, ...]]:
    """The controls, and sentences on those that are missing. `failed`: by folder, why it could not be computed."""
    groups = group_controls(systems, folder)
    places = {(group.id, task): place for group in groups for task, place in group.places.items()}
    cache = PredictionsCache(folder, places)
    for system in systems:
        for task in system.tasks:
            # the dev rows of the systems are the reference
            cache.read(next(iter(system.runs.values())), task)
    missing = [each for group in groups for each in read_scores(group, cache, failed)]
    found = judge_controls(groups, systems, measured, cache)
    controls = [made_control(group, measured, found) for group in groups if group.scores]
    return tuple(controls), tuple(missing_sentences(missing))


def group_controls(systems: Sequence[ControlledSystem], folder: Path) -> list[ControlGroup]:
    """Systems have the same control where those of all tasks that they share are the same."""
    groups: list[ControlGroup] = []
    for system in systems:
        about = read_run(folder / next(iter(system.runs.values())))
        for kind, found in control_places(about).items():
            own = {task: found[task] for task in system.tasks}
            same = (each for each in groups if each.kind == kind and agree(each.places, own))
            group = next(same, None)
            if group is None:
                groups.append(group := ControlGroup(kind, {}, [], {}))
            group.places |= own
            group.labels.append(system.label)
    return sorted(groups, key=lambda each: (CONSTANT, PROBE).index(each.kind))


def agree(places: Mapping[str, str], others: Mapping[str, str]) -> bool:
    return all(places.get(task, place) == place for task, place in others.items())


def read_scores(
    group: ControlGroup, cache: PredictionsCache, failed: Mapping[str, TrialResult]
) -> Iterator[tuple[str, str, str]]:
    """Score what is there; yields (kind, task, reason) of the rest."""
    for task, place in group.places.items():
        try:
            read = cache.read(group.id, task)
        except UserError as wrong:
            absent = failed[place].reason if place in failed else NOT_MEASURED
            yield group.kind, task, wrong.problem if (cache.folder / place).is_dir() else absent
        else:
            group.scores[task] = score(read.task, read.values, read.labels)


def missing_sentences(missing: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    reasons: dict[str, list[tuple[str, str]]] = {}
    for kind, task, reason in missing:
        reasons.setdefault(reason, []).append((kind, task))
    for reason, found in reasons.items():
        kinds, names = (dict.fromkeys(each) for each in zip(*found, strict=True))
        yield f"Nothing is compared with {' and '.join(kinds)} on {', '.join(names)}: {reason.rstrip('.')}."


# ---- differences --------------------------------------------------------------------------------------


def judge_controls(
    groups: Sequence[ControlGroup],
    systems: Sequence[ControlledSystem],
    measured: MeasuredTasks,
    cache: PredictionsCache,
) -> dict[ControlQuestion, ScoreDifference]:
    """Each system minus each of its controls on every measure that both have."""
    tasks = measured.tasks
    compared: dict[tuple[str, ...], dict[tuple[str, str], tuple[Runs, Runs]]] = {}
    for group in groups:
        for system in (each for each in systems if each.label in group.labels):
            shared = tuple(name for name in system.tasks if name in group.scores)
            pair = (system.runs, dict.fromkeys(system.runs, group.id))
            compared.setdefault(shared, {})[system.label, group.id] = pair
    found: dict[ControlQuestion, Evidence] = {}
    for names, pairs in compared.items():
        some = {name: tasks[name] for name in names}
        whole = [OVERALL] if len(some) == len(tasks) and measured.has_overall else []
        found |= gather_evidence(pairs, [*main_measures(some), *whole], some, cache, measured.overall)
    # Cohen's d needs two sides that vary
    judged = judge_differences([replace(each, fixed=True, effect=None) for each in found.values()])
    differences = dict(zip(found, judged, strict=True))
    if OVERALL in measured.measures and not measured.has_overall:
        # the same number under another name, tested once
        differences |= {(key, OVERALL): each for (key, _), each in differences.items()}
    return differences


def made_control(
    group: ControlGroup, measured: MeasuredTasks, found: Mapping[ControlQuestion, ScoreDifference]
) -> Control:
    result = group.as_result()
    values = {name: value_of(result, name, measured.tasks, measured.overall) for name in measured.measures}
    return Control(
        kind=group.kind,
        labels=tuple(group.labels),
        scores={name: value for name, value in values.items() if value is not None},
        differences={
            label: {name: found[key, name] for name in measured.measures if (key, name) in found}
            for label in group.labels
            for key in [(label, group.id)]
        },
    )
