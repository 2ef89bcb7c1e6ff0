"""(ranked systems, the predictions of their controls) -> which controls each system does not beat.

A control is the same for every seed, so what varies over seeds is the system alone. All differences of this kind are
tested together, and not with those between recipes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minbert.comparison.controls import control_places
from minbert.comparison.ranking import Ranking, is_main_metric
from minbert.comparison.results import OVERALL, Control, ScoreDifference, System, TrialResult
from minbert.comparison.run_differences import PredictionsCache, Runs, gather_evidence, main_measures, value_of
from minbert.comparison.statistics import Evidence, judge_differences
from minbert.config.task import Task
from minbert.data.metrics import score
from minbert.errors import UserError
from minbert.runs.directory import read_run
from minbert.runs.outcomes import CONSTANT, PROBE

# ((label, id of the control), measure)
ControlQuestion = tuple[tuple[str, str], str]
NOT_MEASURED = "not measured yet. The same command measures it"


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


def compare_with_controls(
    ranking: Ranking, baseline: str, tasks: Mapping[str, Task], folder: Path, failed: Mapping[str, TrialResult]
) -> tuple[tuple[Control, ...], tuple[str, ...]]:
    """The controls, and sentences on those that are missing. `failed`: by folder, why it could not be computed."""
    measured = {name: task for name, task in tasks.items() if f"{name}.{task.metric}" in ranking.measures}
    known = sorted((each for each in ranking.systems if each.runs), key=lambda each: each.label != baseline)
    groups = group_controls(known, measured, folder)
    places = {(group.id, task): place for group in groups for task, place in group.places.items()}
    cache = PredictionsCache(folder, places)
    for system in known[:1]:
        # its dev rows are the reference
        for task in tasks_with(system, measured):
            cache.read(next(iter(system.runs.values())), task)
    missing = [each for group in groups for each in read_scores(group, cache, failed)]
    found = judge_controls(groups, known, measured, ranking, cache)
    controls = [made_control(group, measured, ranking, found) for group in groups if group.scores]
    return tuple(controls), tuple(missing_sentences(missing))


def tasks_with(system: System, tasks: Mapping[str, Task]) -> list[str]:
    return [name for name, task in tasks.items() if f"{name}.{task.metric}" in system.summaries]


def group_controls(systems: Sequence[System], tasks: Mapping[str, Task], folder: Path) -> list[ControlGroup]:
    """Systems have the same control where those of all tasks that they share are the same."""
    groups: list[ControlGroup] = []
    for system in systems:
        about = read_run(folder / next(iter(system.runs.values())))
        for kind, found in control_places(about).items():
            own = {task: found[task] for task in tasks_with(system, tasks)}
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
            damaged = wrong.problem if (cache.folder / place).is_dir() else NOT_MEASURED
            yield group.kind, task, failed[place].reason if place in failed else damaged
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
    systems: Sequence[System],
    tasks: Mapping[str, Task],
    ranking: Ranking,
    cache: PredictionsCache,
) -> dict[ControlQuestion, ScoreDifference]:
    """Each system minus each of its controls on every measure that both have."""
    compared: dict[tuple[str, ...], dict[tuple[str, str], tuple[Runs, Runs]]] = {}
    for group in groups:
        for system in (each for each in systems if each.label in group.labels):
            shared = tuple(name for name in tasks_with(system, tasks) if name in group.scores)
            pair = (system.runs, dict.fromkeys(system.runs, group.id))
            compared.setdefault(shared, {})[system.label, group.id] = pair
    found: dict[ControlQuestion, Evidence] = {}
    for names, pairs in compared.items():
        some = {name: tasks[name] for name in names}
        whole = [OVERALL] if len(some) == len(tasks) and not is_main_metric(ranking.overall, tasks) else []
        found |= gather_evidence(pairs, [*main_measures(some), *whole], some, cache, ranking.overall)
    judged = judge_differences([replace(each, fixed=True) for each in found.values()])
    differences = dict(zip(found, judged, strict=True))
    if is_main_metric(ranking.overall, tasks):
        # the same number under another name, tested once
        differences |= {(key, OVERALL): each for (key, _), each in differences.items()}
    return differences


def made_control(
    group: ControlGroup,
    tasks: Mapping[str, Task],
    ranking: Ranking,
    found: Mapping[ControlQuestion, ScoreDifference],
) -> Control:
    values = {name: value_of(group.as_result(), name, tasks, ranking.overall) for name in ranking.measures}
    return Control(
        kind=group.kind,
        labels=tuple(group.labels),
        scores={name: value for name, value in values.items() if value is not None},
        differences={
            label: {name: found[key, name] for name in ranking.measures if (key, name) in found}
            for label in group.labels
            for key in [(label, group.id)]
        },
    )
