"""A run, and optionally a second run -> its error analysis, task by task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minbert.analysis.classification import ClassificationAnalysis, analyze_classification
from minbert.analysis.constant_baseline import ConstantBaseline, constant_baseline
from minbert.analysis.dev_rows import describe_rows
from minbert.analysis.disagreement import Disagreement, find_disagreement
from minbert.analysis.hardest_rows import HardRow, hardest_rows
from minbert.analysis.leaks import Leaks, TrainingRows, find_leaks, read_training
from minbert.analysis.regression import RegressionAnalysis, analyze_regression
from minbert.analysis.row_tags import ROW_TAGS, tag_rows
from minbert.analysis.slices import Slice, slice_rows
from minbert.config.task import Task
from minbert.data.metrics import score
from minbert.data.overall_score import overall
from minbert.errors import UserError
from minbert.runs.directory import declared_overall
from minbert.runs.predictions import DevPredictions, read_dev_predictions


@dataclass(frozen=True)
class TagCount:
    """A tag, why it matters, and how many rows have it."""

    name: str
    reason: str
    rows: int


@dataclass(frozen=True)
class TaskAnalysis:
    task: Task
    rows: int
    # every metric of the task, the main metric first
    scores: Mapping[str, float]
    baseline: ConstantBaseline
    # one of the two, depending on the kind of task
    classification: ClassificationAnalysis | None
    regression: RegressionAnalysis | None
    # a few hundred, the highest loss first
    hardest_rows: tuple[HardRow, ...]
    # the tags that some rows have; the hardest rows can be filtered by them
    tags: tuple[TagCount, ...]
    slices: tuple[Slice, ...]
    leaks: Leaks
    # with the other run, if there is one and it has this task: where they differ, and its scores
    disagreement: Disagreement | None
    other_scores: Mapping[str, float] | None = None


@dataclass(frozen=True)
class RunAnalysis:
    """The error analysis of a run's predictions on its dev rows."""

    # the folders as the user wrote them
    run: str
    other: str | None
    overall: float
    tasks: Mapping[str, TaskAnalysis]
    # for the reader: tasks that only one of the runs has
    notes: tuple[str, ...]
    # of the other run, by the same formula; None unless it has all tasks
    other_overall: float | None = None


def analyze_run(run: Path, other: Path | None = None) -> RunAnalysis:
    names = measured_tasks(run)
    others = [] if other is None else measured_tasks(other)
    if other is not None and not set(names) & set(others):
        raise UserError(
            f"{run} and {other} have no task in common: {', '.join(names)}; {', '.join(others)}.",
            "Choose two runs that were evaluated on the same dev files.",
        )
    training = read_training(run)
    tasks = {}
    for name in names:
        second = read_dev_predictions(other, name) if other is not None and name in others else None
        tasks[name] = analyze_task(read_dev_predictions(run, name), training, second, (str(run), str(other)))
    known = {name: found.task for name, found in tasks.items()}
    terms = declared_overall(run)
    scores = {name: found.scores for name, found in tasks.items()}
    others_scores = {name: found.other_scores for name, found in tasks.items() if found.other_scores is not None}
    return RunAnalysis(
        run=str(run),
        other=None if other is None else str(other),
        overall=overall(scores, known, terms),
        tasks=tasks,
        notes=() if other is None else unshared_task_notes(run, names, other, others),
        other_overall=overall(others_scores, known, terms) if len(others_scores) == len(tasks) else None,
    )


def measured_tasks(run: Path) -> list[str]:
    # a run that has only the .csv of a task was made by an older version: reading it says what to do
    found = (path for ending in ("csv", "npz") for path in (run / "predictions").glob(f"*-dev.{ending}"))
    names = sorted({path.stem.removesuffix("-dev") for path in found})
    if not names:
        raise UserError(
            f"{run}: has no predictions of dev rows, so there is nothing to analyze.",
            "Choose the folder of a finished run.",
        )
    return names


def unshared_task_notes(run: Path, names: list[str], other: Path, others: list[str]) -> tuple[str, ...]:
    return tuple(
        f"Only {owner} has task '{name}'."
        for owner, own, theirs in ((run, names, others), (other, others, names))
        for name in own
        if name not in theirs
    )


def analyze_task(
    predictions: DevPredictions,
    training: TrainingRows,
    other: DevPredictions | None = None,
    runs: tuple[str, str] = ("the run", "the other run"),
) -> TaskAnalysis:
    task = predictions.task
    is_class = task.kind == "classify"
    leaks, leaked_N = find_leaks(predictions, training)
    rows = describe_rows(predictions, leaked_N)
    tagged = tag_rows(rows)
    return TaskAnalysis(
        task=task,
        rows=len(rows),
        scores=score(task, predictions.values, predictions.labels),
        baseline=constant_baseline(task, predictions.labels),
        classification=analyze_classification(task, predictions.values, predictions.labels) if is_class else None,
        regression=None if is_class else analyze_regression(task, predictions.values, predictions.labels),
        hardest_rows=hardest_rows(predictions, tagged),
        tags=tuple(TagCount(name, ROW_TAGS[name].reason, int(has_N.sum())) for name, has_N in tagged.items()),
        slices=slice_rows(predictions, rows, tagged),
        leaks=leaks,
        disagreement=None if other is None else find_disagreement(predictions, other, runs),
        other_scores=None if other is None else score(task, other.values, other.labels),
    )
