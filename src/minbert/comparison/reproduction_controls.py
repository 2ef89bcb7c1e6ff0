"""The trained rows of the reports -> the scores of their controls as further rows, and which rows do not beat them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from minbert.comparison.conclude import tasks_of_run
from minbert.comparison.control_differences import ControlledSystem, MeasuredTasks, compare_with_controls
from minbert.comparison.published import REPORT_METRICS, PublishedRow
from minbert.comparison.ranking import comparable_results
from minbert.comparison.reproduce import Reproduction, RowOutcome
from minbert.comparison.results import Control, TrialResult
from minbert.comparison.run_differences import PredictionsCache, finished, main_measures
from minbert.config.overall_terms import split_measure
from minbert.config.task import Task
from minbert.runs.directory import read_run


def outcomes_with_controls(work: Reproduction) -> list[RowOutcome]:
    """The outcome of every row, with a note where it does not clearly beat a control, and then of the controls."""
    controls, missing = reproduced_controls(work)
    outcomes = []
    for outcome in work.outcomes():
        labels = [job.label for job in work.jobs[outcome.row.id]]
        said = [outcome.note, *(note for control in controls for note in control_notes(control, labels))]
        outcomes.append(replace(outcome, note="; ".join(filter(None, said))))
    outcomes += [control_outcome(each, controls) for each in controls]
    return outcomes + [RowOutcome(control_row("controls"), note=sentence) for sentence in missing]


def reproduced_controls(work: Reproduction) -> tuple[tuple[Control, ...], tuple[str, ...]]:
    """The controls of all models, and sentences on those that are missing."""
    folder, results = work.settings.out, finished(work.results().values())
    tasks: dict[str, Task] = {}
    for each in results:
        tasks = tasks_of_run(read_run(folder / each.run) | {"folder": folder / each.run}) | tasks
    measured = {name: task for name, task in tasks.items() if any(name in each.scores for each in results)}
    cache = PredictionsCache(folder)
    systems = [
        ControlledSystem(each.label, {each.seed: each.run}, tuple(name for name in measured if name in each.scores))
        for each in results
        if comparable_results([each], measured, cache)[0]
    ]
    known: Mapping[str, TrialResult] = work.comparison.store.results()
    return compare_with_controls(systems, MeasuredTasks(measured, main_measures(measured)), folder, known)


def control_notes(control: Control, labels: Sequence[str]) -> Iterator[str]:
    """What the models of a row do not beat, and what they do not clearly beat."""
    for concerned, words in (
        (Control.not_beaten_by, "does not beat"),
        (Control.unclear_for, "not clearly better than"),
    ):
        tasks = [
            split_measure(measure)[0] for measure in control.scores if set(labels) & {*concerned(control, measure)}
        ]
        if tasks:
            yield f"{words} {control.kind} on {', '.join(tasks)}"


def control_outcome(control: Control, controls: Sequence[Control]) -> RowOutcome:
    scores = {split_measure(measure): value for measure, value in control.scores.items()}
    figures = {task: scores[task, metric] for task, metric in REPORT_METRICS.items() if (task, metric) in scores}
    others = {measure: value for measure, value in control.scores.items() if split_measure(measure)[0] not in figures}
    alone = [each.kind for each in controls].count(control.kind) == 1
    note = "" if alone else f"of {', '.join(control.labels)}"
    return RowOutcome(control_row(control.kind.removeprefix("the ")), figures, others, note=note)


def control_row(name: str) -> PublishedRow:
    """A row that no report has."""
    return PublishedRow(id=name, title="a control: nothing is trained", recipe="none")
