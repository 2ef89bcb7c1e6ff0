"""A trained run -> its calibrated model, final scores on dev and test rows, and the outcome of each task."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from minbert.data.source import DataSource
from minbert.inference.calibration import fit_temperature, fit_threshold, with_temperature
from minbert.inference.loop import encode_for_task, fill_predictions
from minbert.inference.saved_model import load_model, save_calibration
from minbert.inference.task_predictions import empty_predictions
from minbert.model.multitask import Model
from minbert.runs.curves import draw_curves
from minbert.runs.events import Event, Scores
from minbert.runs.fit import Fit
from minbert.runs.labeled_tests import read_test_rows
from minbert.runs.leaked_scores import scores_without_leaks
from minbert.runs.outcomes import TaskOutcome, task_outcomes
from minbert.runs.scoring import CALIBRATION_ROWS, fixed_sample, scoring_of
from minbert.runs.untrained import splits_for
from minbert.training.prepare import Split


@dataclass(frozen=True)
class FinalScores:
    scores: Scores
    # of the test files
    test: Scores
    without_leaks: Scores
    outcomes: dict[str, TaskOutcome]

    def as_record(self) -> dict[str, Any]:
        """For run.json."""
        outcomes = {name: each.as_record() for name, each in self.outcomes.items()}
        return {"scores": self.scores, "outcomes": outcomes} | ({"test": self.test} if self.test else {})


def finish(fit: Fit, source: DataSource) -> Generator[Event, None, FinalScores]:
    """Calibrate the kept model, and score it on all dev rows and on the test files."""
    ready, out = fit.ready, fit.out
    if fit.curves:
        draw_curves(out)
    model, _ = load_model(out, ready.recipe.precision)
    calibrate_kept(fit, model)
    (out / "predictions").mkdir(exist_ok=True)
    dev = splits_for(model, ready, {name: ready.dev[name] for name in model.tasks})
    scores = yield from fit.measure(scoring_of(model, dev, out / "predictions"))
    test = yield from fit.measure(scoring_of(model, test_splits(fit, model, source)))
    tasks = {name: part.task for name, part in model.tasks.items()}
    outcomes = task_outcomes(out, tasks, scores, fit.controls, fit.task_seconds, test)
    return FinalScores(scores, test, scores_without_leaks(out, fit.examined.leaks), outcomes)


def calibrate_kept(fit: Fit, model: Model) -> None:
    """Fit the temperature and the decision threshold of each classifier on dev rows, and save them with the model."""
    temperatures: dict[str, float] = {}
    thresholds: dict[str, float | None] = {}
    few = {name: fixed_sample(fit.ready.dev[name], CALIBRATION_ROWS) for name in model.tasks}
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


def test_splits(fit: Fit, model: Model, source: DataSource) -> dict[str, Split]:
    """The labeled rows of the tasks' test files."""
    tasks = {name: fit.ready.tasks[name] for name, part in model.tasks.items() if part.loss.predicts}
    return {
        name: Split(rows, encode_for_task(model, name, fit.ready.tokenizer, rows.texts))
        for name, rows in read_test_rows(tasks, source).items()
    }
