"""Several runs -> one: with the mean of their weights (soup), or with the mean of their predictions (ensemble)."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

import torch

from minbert.config.overall_terms import split_measure
from minbert.config.task import Task
from minbert.data.metrics import direction
from minbert.errors import UserError
from minbert.files import write_json
from minbert.inference.ensemble import ENSEMBLE_FORMAT, load_members
from minbert.inference.saved_model import load_model, model_folder, save_model
from minbert.model.multitask import Model, TaskModule
from minbert.runs.directory import check_new_directory, declared_overall, read_run


def make_soup(runs: Sequence[Path], out: Path, force: bool = False) -> None:
    """The mean of the weights of runs with the same shapes (model soup, Wortsman et al. 2022)."""
    check_merge(runs, out, force)
    model, text = load_model(runs[0], "fp32")
    mean = {name: tensor.double() for name, tensor in model.state_dict().items()}
    calibrated = [model.tasks]
    for path in runs[1:]:
        other, _ = load_model(path, "fp32")
        check_same_shape(runs[0], model, path, other)
        for name, tensor in other.state_dict().items():
            mean[name] += tensor
        calibrated.append(other.tasks)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(mean[name] / len(runs))
    for name, part in model.tasks.items():
        average_calibration(part, [tasks[name] for tasks in calibrated])
    make_empty(out)
    save_model(out / "model", model, text)
    write_merge(out, runs, dict.fromkeys(model.tasks, runs[0]), "soup")


def average_calibration(part: TaskModule, members: Sequence[TaskModule]) -> None:
    """Temperatures and thresholds are fitted on dev rows, which a soup does not read: it takes the members' means."""
    part.temperature = geometric_mean(member.temperature for member in members)
    thresholds = [member.task.threshold for member in members]
    # no threshold means the more probable label
    known = [0.5 if each is None else each for each in thresholds]
    part.task = part.task.with_threshold(None if thresholds.count(None) == len(members) else fmean(known))


def make_ensemble(runs: Sequence[Path], out: Path, *, best: bool = False, force: bool = False) -> dict[str, list[Path]]:
    """The models of several runs in one folder; returns the runs that predict each task.

    `best`: only the run with the best dev score predicts a task; otherwise all runs that have it.
    """
    check_merge(runs, out, force)
    known: dict[str, Task] = {}
    runs_of: dict[str, list[Path]] = {}
    for run in runs:
        for member in load_members(run, "fp32"):
            for name in member.tasks:
                task = member.model.task(name).task
                if known.setdefault(name, task).choices != task.choices:
                    raise UserError(
                        f"{run}: task '{name}' has other labels or another range than in {runs_of[name][0]}.",
                        "Leave one of the two out.",
                    )
                runs_of.setdefault(name, []).append(run)
    if best:
        runs_of = {name: [best_run(known[name], those)] for name, those in runs_of.items()}
    make_empty(out)
    members = []
    for number, run in enumerate(run for run in runs if any(run in those for those in runs_of.values())):
        folder = model_folder(run)
        if folder is None:
            raise UserError(f"{run}: is an ensemble itself.", "Name the runs that it was made of.")
        shutil.copytree(folder, out / "members" / str(number))
        tasks = [name for name, those in runs_of.items() if run in those]
        members.append({"folder": f"members/{number}", "from": str(run), "tasks": tasks})
    write_merge(out, runs, {name: those[0] for name, those in runs_of.items()}, "ensemble")
    # last: with it, the folder is an ensemble
    write_json(out / "ensemble.json", {"format": ENSEMBLE_FORMAT, "members": members})
    return runs_of


def best_run(task: Task, runs: Sequence[Path]) -> Path:
    """The run with the best dev score of a task, by their run.json."""

    def score(run: Path) -> float:
        found: Mapping[str, Any] = read_run(run).get("scores", {}).get(task.name, {})
        if task.metric not in found:
            raise UserError(f"{run}: has no dev score of task '{task.name}'.", "Is the run finished?")
        return direction(task.metric) * float(found[task.metric])

    return max(runs, key=score)


def check_merge(runs: Sequence[Path], out: Path, force: bool) -> None:
    if len(runs) < 2:
        raise UserError("Fewer than two runs cannot be merged.", "Name two or more.")
    check_new_directory(out, force)


def make_empty(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)


def write_merge(out: Path, runs: Sequence[Path], owners: Mapping[str, Path], what: str) -> None:
    """run.json with the merged runs, and the tasks with the paths of their data, so that `evaluate` works on it."""
    (out / "tasks").mkdir()
    for name, run in owners.items():
        if (run / "tasks" / f"{name}.toml").is_file():
            shutil.copy(run / "tasks" / f"{name}.toml", out / "tasks")
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    terms = {
        measure: term if isinstance(term, float) else asdict(term)
        for name, run in owners.items()
        for measure, term in declared_overall(run).items()
        if split_measure(measure)[0] == name
    }
    about = {"state": "finished", "started": started, what: [str(run) for run in runs], "overall_terms": terms}
    write_json(out / "run.json", about)


def check_same_shape(first: Path, model: Model, path: Path, other: Model) -> None:
    """Weights can only be averaged where both models have the same parameters."""
    own, theirs = ({name: tuple(tensor.shape) for name, tensor in each.state_dict().items()} for each in (model, other))
    differing = sorted(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
    if differing:
        raise UserError(
            f"{path}: not of the same shape as {first}: {len(differing)} weights differ, the first is {differing[0]}.",
            "Average runs of one recipe with different seeds; for other runs use `minbert ensemble`.",
        )
    for name, part in model.tasks.items():
        if part.task.choices != other.task(name).task.choices:
            raise UserError(f"{path}: task '{name}' has other labels or another range than in {first}.")
