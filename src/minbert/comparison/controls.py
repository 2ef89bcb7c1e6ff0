"""The finished runs of a comparison -> the dev predictions of what costs nothing: the controls of their tasks.

The constant answer depends on a task's rows, the untrained backbone also on its weights and on the tokens that it
reads. Predictions are in the form of a run's, below `controls/`, in a folder that is named by a hash of all that: runs
share them, and what is known is not computed again.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from minbert.comparison.results import TrialResult
from minbert.comparison.trial import ReportProgress, Trial, failed_trial, failure_reason, file_sha256, trial_folder
from minbert.config.recipe import Recipe
from minbert.config.task import Files, Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import Array
from minbert.encoder.dropout import DropoutGenerator
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_backbone
from minbert.errors import UserError
from minbert.files import replace_folder
from minbert.runs.constants import constant_answer, constant_predictions
from minbert.runs.controls import ProbePredictions
from minbert.runs.directory import backbone_files, read_run
from minbert.runs.events import Stopped
from minbert.runs.fit import StopRequest
from minbert.runs.outcomes import CONSTANT, PROBE
from minbert.runs.predictions import read_dev_predictions, write_dev_predictions
from minbert.runs.untrained import probe_model
from minbert.training.prepare import read_data

CONTROLS = "controls"
FOLDER_NAMES = {CONSTANT: "constant", PROBE: "untrained"}
# settings of a task that do not change its rows or what is predicted for them
NOT_OF_ROWS = ("about", "metric", "class_weights", "max_length")
# parts into which the progress of one task is divided
PROGRESS_PARTS = 100

# kind of control: task: the folder of its predictions, relative to the comparison's
ControlPlaces = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ControlTrial(Trial):
    """The controls of a finished trial that are not known yet; an engine computes them as it trains a trial."""

    # of the finished trial
    run_key: str = ""
    wanted: ControlPlaces = field(default_factory=dict)

    def title(self, name: str) -> str:
        return f"controls of {name}"

    def folder(self, comparison: Path) -> Path:
        return comparison / CONTROLS

    def train(self, comparison: Path, report_progress: ReportProgress, stop_requested: StopRequest) -> TrialResult:
        """An error is a result too; Stopped is not."""
        try:
            for done in compute_controls(self, comparison):
                report_progress(done, PROGRESS_PARTS, None)
                if (number := stop_requested()) is not None:
                    raise Stopped(number, 0)
            return TrialResult(self.key, self.label, self.recipe.seed, "finished")
        except Stopped:
            raise
        except Exception as wrong:  # the comparison goes on without these controls
            return failed_trial(self, comparison, failure_reason(wrong))


def control_trials(comparison: Path, finished: Iterable[Trial]) -> list[ControlTrial]:
    """What is still to be computed for these trials, each control once."""
    planned: set[str] = set()
    trials = []
    for each in finished:
        found = control_places(read_run(each.folder(comparison)))
        new = {kind: {task: place for task, place in by.items() if place not in planned} for kind, by in found.items()}
        wanted = {kind: missing_places(comparison, by) for kind, by in new.items()}
        planned.update(place for by in found.values() for place in by.values())
        if any(wanted.values()):
            recipe, key = each.recipe, f"{CONTROLS}-{each.key}"
            trials.append(ControlTrial(key, each.label, recipe, each.source, run_key=each.key, wanted=wanted))
    return trials


# ---- where they are -----------------------------------------------------------------------------------


def control_places(about: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The controls of a run. `about`: its run.json."""
    places: dict[str, dict[str, str]] = {CONSTANT: {}, PROBE: {}}
    for name in about["scores"]:
        rows = rows_content(about, name)
        encoded = [rows, about["recipe"]["tasks"][name]["max_length"], about["sha256"]["backbone"]]
        for kind, content in {CONSTANT: rows, PROBE: encoded}.items():
            digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]
            places[kind][name] = f"{CONTROLS}/{FOLDER_NAMES[kind]}-{digest}"
    return places


def rows_content(about: Mapping[str, Any], name: str) -> list[Any]:
    """What decides the rows of a run's task."""
    content = []
    for each in linked_tasks(about["files"], name):
        settings = about["recipe"]["tasks"][each]["task"]
        kept = {key: value for key, value in settings.items() if key not in NOT_OF_ROWS}
        content.append([each, *(about["sha256"]["data"][f"{each} {split}"] for split in ("train", "dev")), kept])
    return content


def linked_tasks(files: Mapping[str, Mapping[str, Any]], name: str) -> list[str]:
    """The task, and those whose held-out rows it does not train on: see data/dev_split.py."""
    if files[name]["dev"] is not None:
        return [name]
    return [name, *sorted(each for each in files if each != name and files[each]["dev"] is None)]


def missing_places(comparison: Path, places: Mapping[str, str]) -> dict[str, str]:
    """Those of task: folder whose predictions are not there, or damaged."""
    return {task: place for task, place in places.items() if not is_known(comparison / place, task)}


def is_known(folder: Path, task: str) -> bool:
    try:
        read_dev_predictions(folder, task)
    except UserError:
        return False
    return True


# ---- compute ------------------------------------------------------------------------------------------


def compute_controls(trial: ControlTrial, comparison: Path) -> Iterator[int]:
    """Compute and write what a trial wants; yields the parts done."""
    about = read_run(trial_folder(comparison, trial.run_key))
    names = list(dict.fromkeys(task for places in trial.wanted.values() for task in places))
    recipe = recipe_of_rows(trial.recipe, about, names)
    data = read_data(recipe, replace(trial.source, skip_bad_rows=bool(about["skip_bad_rows"])))
    tasks, train, dev = data.tasks, data.train, data.dev
    check_same_files(about, recipe, {"train": train, "dev": dev})
    backbone = load_backbone(find_backbone(recipe.backbone), DropoutGenerator(0))
    for number, name in enumerate(names):
        done = number * PROGRESS_PARTS // len(names)
        yield done
        if place := trial.wanted[CONSTANT].get(name):
            labels = train[name].labels
            assert labels is not None
            constant = constant_predictions(tasks[name], constant_answer(tasks[name], labels), len(dev[name]))
            # a threshold belongs to a model's probabilities
            write_control(comparison / place, tasks[name].with_threshold(None), dev[name], constant)
        if place := trial.wanted[PROBE].get(name):
            model = probe_model(backbone[0], {name: tasks[name]}, recipe)
            model.to_device(recipe.precision)
            probe = ProbePredictions(model, backbone[1], train[name], dev[name])
            for fraction in probe:
                yield done + int(fraction * PROGRESS_PARTS / len(names))
            write_control(comparison / place, tasks[name], dev[name], probe.predictions)


def recipe_of_rows(recipe: Recipe, about: Mapping[str, Any], names: Iterable[str]) -> Recipe:
    """The recipe with these tasks and those that decide their rows, and the lengths that its run has chosen.

    Controls need no validation rows: they are fitted on all training rows, whatever a recipe holds out.
    """
    needed = {each for name in names for each in linked_tasks(about["files"], name)}
    plans = {
        name: replace(plan, max_length=about["recipe"]["tasks"][name]["max_length"])
        for name, plan in recipe.tasks.items()
        if name in needed
    }
    return replace(recipe, tasks=plans, selection=replace(recipe.selection, validation_fraction=None))


def check_same_files(about: Mapping[str, Any], recipe: Recipe, splits: Mapping[str, Mapping[str, Dataset]]) -> None:
    """UserError if the data or the backbone are not those of the run any more."""
    found = {f"{name} {split}": rows.path for split, by_task in splits.items() for name, rows in by_task.items()}
    weights = {path.name: path for path in backbone_files(find_backbone(recipe.backbone))}
    for known, paths in ((about["sha256"]["data"], found), (about["sha256"]["backbone"], weights)):
        changed = [path for name, path in paths.items() if known.get(name) != file_sha256(path)]
        if changed:
            raise UserError(f"{changed[0]} has changed since the trials were trained.", "Restore it.")


def write_control(folder: Path, task: Task, dev: Dataset, predictions: Array) -> None:
    """As a folder that is there whole or not at all."""
    aside = folder.with_name(f"{folder.name}.tmp")
    shutil.rmtree(aside, ignore_errors=True)
    (aside / "tasks").mkdir(parents=True)
    # it says how to read the predictions; where the rows are from, the runs know
    settings = replace(task, files=Files()).as_settings()
    (aside / "tasks" / f"{task.name}.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    write_dev_predictions(aside / "predictions", task, dev, predictions)
    replace_folder(aside, folder)
