"""A trained run -> its calibrated model, final scores on dev and test rows, and the outcome of each task."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minbert.data.intervals import interval_of
from minbert.inference.calibration import fit_temperature, fit_threshold, with_temperature
from minbert.inference.loop import fill_predictions
from minbert.inference.saved_model import load_model, save_calibration
from minbert.inference.task_predictions import empty_predictions
from minbert.model.multitask import Model
from minbert.runs.curves import draw_curves
from minbert.runs.data_findings import unknown_share
from minbert.runs.events import Event, Scores
from minbert.runs.fit import Fit
from minbert.runs.leaked_scores import Predicted, leak_record
from minbert.runs.outcomes import TEST_FIELDS, TaskOutcome, task_outcomes
from minbert.runs.predictions import read_dev_predictions
from minbert.runs.scoring import CALIBRATION_ROWS, Scoring, fixed_sample, scoring_of
from minbert.runs.unseen_labels import unseen_record
from minbert.runs.untrained import splits_for


@dataclass(frozen=True)
class FinalScores:
    scores: Scores
    # of the test files
    test: Scores
    outcomes: dict[str, TaskOutcome]
    # by task: its leaked dev rows, and its leaked test rows
    leaks: dict[str, Any]
    test_leaks: dict[str, Any]
    # by task and split: the rows whose label no training row has
    unseen: dict[str, Any]

    def as_record(self) -> dict[str, Any]:
        """For run.json."""
        outcomes = {name: each.as_record() for name, each in self.outcomes.items()}
        test = {"test": self.test, "test_leaks": self.test_leaks} if self.test else {}
        return (
            {"scores": self.scores, "outcomes": outcomes, "leaks": self.leaks} | test | {"unseen_labels": self.unseen}
        )


def finish(fit: Fit, planned_steps: int | None = None) -> Generator[Event, None, FinalScores]:
    """Calibrate the kept model, and score it on all dev rows and on the test files.

    `planned_steps`: of a run with a time limit, its steps without the limit.
    """
    ready, out = fit.ready, fit.out
    if fit.curves:
        draw_curves(out, ready.recipe.selection.chosen_on)
    model, _ = load_model(out, ready.recipe.precision)
    calibrate_kept(fit, model)
    (out / "predictions").mkdir(exist_ok=True)
    dev = splits_for(model, ready, {name: ready.dev[name] for name in model.tasks})
    scores = yield from fit.measure(scoring_of(model, dev, out / "predictions"))
    tested = scoring_of(model, splits_for(model, ready, ready.test))
    test = yield from fit.measure(tested)
    tasks = {name: part.task for name, part in model.tasks.items()}
    outcomes = task_outcomes(out, tasks, scores, fit.controls, fit.task_seconds, with_intervals(tested))
    part = trained_part(fit, planned_steps)
    unknown = {name: unknown_share(fit.examined.splits, name) for name in outcomes}
    outcomes = {name: replace(each, unknown=unknown[name], trained_part=part) for name, each in outcomes.items()}
    leaks = leak_record(fit.examined.leaks, lambda name: predicted_dev_rows(out, name), fit.controls)
    test_leaks = leak_record(fit.examined.test_leaks, lambda name: predicted_rows(tested, name), fit.controls)
    return FinalScores(scores, test, outcomes, leaks, test_leaks, unseen_by_split(fit, tested))


def unseen_by_split(fit: Fit, tested: Scoring) -> dict[str, Any]:
    """The dev and test rows of each task whose label no training row has, without the tasks that have none."""
    found: dict[str, Any] = {}
    for name, known in fit.controls.items():
        task, values, _ = predicted_dev_rows(fit.out, name)
        splits = {"dev": unseen_record(task, fit.ready.dev[name].dataset, values, known.answer)}
        if name in tested.predicted:
            splits["test"] = unseen_record(task, tested.rows[name], tested.predicted[name], known.answer)
        found[name] = {split: record for split, record in splits.items() if record}
    return {name: splits for name, splits in found.items() if splits}


def trained_part(fit: Fit, planned_steps: int | None) -> float | None:
    """Which part of the planned steps fitted into the time limit; None without one."""
    if planned_steps is None:
        return None
    # steps after the dev score no longer improved would have fitted
    return round((fit.loop.done if fit.patient else fit.ready.setup.steps) / planned_steps, 4)


def predicted_dev_rows(out: Path, name: str) -> Predicted:
    found = read_dev_predictions(out, name)
    return found.task, found.values, found.labels


def predicted_rows(scoring: Scoring, name: str) -> Predicted:
    labels = scoring.rows[name].labels
    assert labels is not None
    return scoring.tasks[name], scoring.predicted[name], labels


def with_intervals(tested: Scoring) -> dict[str, dict[str, Any]]:
    """The main metric of each task on its test file, with the interval and the number of rows."""
    outcomes = {}
    for name, found in tested.scores.items():
        task, values, labels = predicted_rows(tested, name)
        numbers = (found[task.metric], *interval_of(task, values, labels), len(labels))
        outcomes[name] = dict(zip(TEST_FIELDS, numbers, strict=True))
    return outcomes


def calibrate_kept(fit: Fit, model: Model) -> None:
    """Fit the temperature and the decision threshold of each classifier on the rows that choose, and save them
    with the model."""
    temperatures: dict[str, float] = {}
    thresholds: dict[str, float | None] = {}
    few = {name: fixed_sample(fit.ready.choosing[name], CALIBRATION_ROWS) for name in model.tasks}
    few = splits_for(model, fit.ready, few)
    for name, part in model.tasks.items():
        if part.task.kind != "classify" or not part.loss.predicts or part.head.output_kind != "logits":
            continue
        # a run that was stopped after this has a temperature already
        part.temperature = 1.0
        split = few[name]
        probabilities_NC = empty_predictions(part.task, len(split.dataset))
        for _ in fill_predictions(model, [name], split.encoded, {name: probabilities_NC}):
            fit.stop_if_requested()
        assert split.dataset.labels is not None
        exact_NC = probabilities_NC.astype(float)
        temperatures[name] = fit_temperature(exact_NC, split.dataset.labels)
        calibrated_NC = with_temperature(exact_NC, temperatures[name])
        given = fit.ready.tasks[name].threshold
        thresholds[name] = fit_threshold(calibrated_NC, part.task.metric) if given is None else given
        part.temperature = temperatures[name]
        part.task = part.task.with_threshold(thresholds[name])
    save_calibration(fit.out / "model", temperatures, thresholds)
