"""A run, and maybe another one -> its error analysis, task by task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minbert.analysis.baseline import Baseline, baseline_of
from minbert.analysis.classes import Classes, analyze_classes
from minbert.analysis.disagreement import Disagreement, disagree
from minbert.analysis.hardest import Example, hardest
from minbert.analysis.leaks import Leaks, Training, find_leaks, read_training
from minbert.analysis.regression import Regression, analyze_scores
from minbert.analysis.rows import rows_of
from minbert.analysis.slices import Slice, slice_rows
from minbert.analysis.tags import TAGS, tag_rows
from minbert.config.task import Task
from minbert.data.metrics import overall, score
from minbert.errors import UserError
from minbert.runs.predictions import DevPredictions, read_dev_predictions


@dataclass(frozen=True)
class Tagged:
    """A kind of rows, why anybody should look at it, and how many there are."""

    name: str
    reason: str
    rows: int


@dataclass(frozen=True)
class TaskAnalysis:
    task: Task
    rows: int
    # every metric of the task, its main one first
    scores: Mapping[str, float]
    baseline: Baseline
    # one of the two, by the task's kind
    classes: Classes | None
    regression: Regression | None
    # a few hundred, the highest loss first
    hardest: tuple[Example, ...]
    # the tags that some rows have: what `hardest` can be filtered by
    tags: tuple[Tagged, ...]
    slices: tuple[Slice, ...]
    leaks: Leaks
    # with the other run, if there is one and it has the task
    disagreement: Disagreement | None


@dataclass(frozen=True)
class RunAnalysis:
    """All that can be said of a run's answers to its dev rows."""

    # folders, as they were named
    run: str
    other: str | None
    overall: float
    tasks: Mapping[str, TaskAnalysis]
    # what the reader should know: tasks that only one of the runs has
    notes: tuple[str, ...]


def analyze_run(run: Path, other: Path | None = None) -> RunAnalysis:
    names = measured_tasks(run)
    others = [] if other is None else measured_tasks(other)
    if other is not None and not set(names) & set(others):
        raise UserError(
            f"{run} and {other} have no task in common: {', '.join(names)}; {', '.join(others)}.",
            "Name two runs that were measured on the same dev files.",
        )
    training = read_training(run)
    tasks = {}
    for name in names:
        second = read_dev_predictions(other, name) if other is not None and name in others else None
        tasks[name] = analyze_task(read_dev_predictions(run, name), training, second, (str(run), str(other)))
    scores = {name: found.scores for name, found in tasks.items()}
    return RunAnalysis(
        run=str(run),
        other=None if other is None else str(other),
        overall=overall(scores, {name: found.task for name, found in tasks.items()}),
        tasks=tasks,
        notes=() if other is None else one_sided(run, names, other, others),
    )


def measured_tasks(run: Path) -> list[str]:
    # a run that has only the .csv of a task was made by an older version: reading it says what to do
    found = (path for ending in ("csv", "npz") for path in (run / "predictions").glob(f"*-dev.{ending}"))
    names = sorted({path.stem.removesuffix("-dev") for path in found})
    if not names:
        raise UserError(
            f"{run}: has no predictions of dev rows, so there is nothing to analyse.",
            "Name the folder of a finished run.",
        )
    return names


def one_sided(run: Path, names: list[str], other: Path, others: list[str]) -> tuple[str, ...]:
    return tuple(
        f"Only {owner} has task '{name}'."
        for owner, own, theirs in ((run, names, others), (other, others, names))
        for name in own
        if name not in theirs
    )


def analyze_task(
    given: DevPredictions,
    training: Training,
    other: DevPredictions | None = None,
    runs: tuple[str, str] = ("the run", "the other run"),
) -> TaskAnalysis:
    task = given.task
    is_classes = task.kind == "classify"
    leaks, leaked_N = find_leaks(given, training)
    rows = rows_of(given, leaked_N)
    tagged = tag_rows(rows)
    return TaskAnalysis(
        task=task,
        rows=len(rows),
        scores=score(task, given.answers, given.labels),
        baseline=baseline_of(task, given.labels),
        classes=analyze_classes(task, given.answers, given.labels) if is_classes else None,
        regression=None if is_classes else analyze_scores(task, given.answers, given.labels),
        hardest=hardest(given, tagged),
        tags=tuple(Tagged(name, TAGS[name].reason, int(has_N.sum())) for name, has_N in tagged.items()),
        slices=slice_rows(given, rows, tagged),
        leaks=leaks,
        disagreement=None if other is None else disagree(given, other, runs),
    )
