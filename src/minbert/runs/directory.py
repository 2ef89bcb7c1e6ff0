"""The directory of a run: how it is created, described and checked.

recipe.toml and tasks/ (as resolved), run.json (state, versions, fingerprints, scores, cost: the only record of how a
run ended), metrics.jsonl, events/ (TensorBoard), curves.png, predictions/, model/ (the best model: transformers loads
its encoder).
"""

import hashlib
import json
import os
import platform
import shlex
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w

from minbert import __version__
from minbert.config.overall_terms import OverallTerm, overall_from
from minbert.config.recipe import Recipe
from minbert.config.task import Task, read_task
from minbert.data.dataset import Dataset
from minbert.data.source import DataSource
from minbert.errors import UserError
from minbert.files import FolderLock, differences, hold_lock, sha256, write_json, write_text
from minbert.training.prepare import Prepared
from minbert.training.resolve import resolve_recipe


def check_new_directory(path: Path, force: bool, own_files: Collection[Path] = ()) -> None:
    """Refuse a directory that is not empty, except for an old run with `force`.

    `own_files`: data files of the new run, which are there already.
    """
    if not path.exists() or (path.is_dir() and not holds_others(path, own_files)):
        return
    if not force and read_state(path) in ("interrupted", "running"):
        raise UserError(
            f"{path}: holds a run that was not finished.",
            f"Continue it:  minbert resume {shlex.quote(str(path))}\nOr name another --out; --force replaces it.",
        )
    if not force:
        raise UserError(
            f"{path}: exists already; a run needs an empty directory.",
            "Name another --out, or replace the old run with --force.",
        )
    if not (path / "run.json").is_file():
        raise UserError(f"{path}: is not a run, so --force does not remove it.", "Name another --out.")
    with lock_run(path):
        pass


def read_state(path: Path) -> str:
    """How a run ended, or "running"; empty for other folders."""
    return str(read_run(path).get("state", "")) if (path / "run.json").is_file() else ""


def lock_run(path: Path) -> closing[FolderLock]:
    """Only one process works in a run's directory."""
    return closing(hold_lock(path))


def create_run(path: Path, about: dict[str, Any], force: bool, own_files: Collection[Path] = ()) -> None:
    """A run directory with run.json in it from the start, and nothing else but the run's own data files."""
    check_new_directory(path, force, own_files)
    if path.exists():
        remove_others(path.resolve(), own_files)
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / "run.json", about)


def holds_others(folder: Path, own_files: Collection[Path]) -> bool:
    """Whether a folder has anything but these files and the folders around them."""
    around = {parent for file in own_files for parent in (file, *file.parents)}
    return any(path not in around for path in folder.resolve().rglob("*"))


def remove_others(folder: Path, own_files: Collection[Path]) -> None:
    """Remove everything from a folder but these files."""
    for path in folder.iterdir():
        if path in own_files:
            continue
        if not path.is_dir() or path.is_symlink():
            path.unlink()
        elif any(file.is_relative_to(path) for file in own_files):
            remove_others(path, own_files)
        else:
            shutil.rmtree(path)


def write_recipe(path: Path, ready: Prepared) -> None:
    """The resolved recipe and its tasks: `minbert train RUN/recipe.toml` repeats the run."""
    table = resolve_recipe(ready.recipe, ready.tasks)
    (path / "tasks").mkdir()
    for name, task in ready.tasks.items():
        table["tasks"][name]["task"] = f"tasks/{name}.toml"
        settings = task.as_settings()
        splits = {"train": ready.train, "dev": ready.dev, "test": ready.test}
        # without a test file that has no labels
        settings["files"] = {
            role: str(splits[role][name].dataset.path.resolve()) for role in settings["files"] if name in splits[role]
        }
        (path / "tasks" / f"{name}.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    # last: from here on, the run can be resumed
    write_text(path / "recipe.toml", tomli_w.dumps(table))


def read_run(path: Path) -> dict[str, Any]:
    """run.json of a run."""
    try:
        run = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{path}: not a run: it has no run.json.", "`minbert train FILE --out RUN` makes one."
        ) from None
    except ValueError as wrong:
        raise UserError(
            f"{path / 'run.json'}: not JSON: {wrong}", "Start the run again in another directory."
        ) from None
    assert isinstance(run, dict)
    return run


def read_unfinished_run(path: Path) -> dict[str, Any]:
    """run.json of a run that can be resumed."""
    about = read_run(path)
    if not (path / "recipe.toml").is_file():
        raise UserError(f"{path}: was stopped before training began.", "Start it again with --force.")
    if "recipe" not in about:
        raise UserError(f"{path}: made by another version of minbert, which recorded less.", "Start it again.")
    if about["state"] == "finished":
        raise UserError(f"{path}: this run is finished.", f"`minbert evaluate {path}` shows its scores.")
    return about


def run_metadata(ready: Prepared, source: DataSource, command: str = "") -> dict[str, Any]:
    """What a reader needs to know to trust the numbers, or to reproduce them."""
    data = {
        f"{name} {role}": splits[name].dataset.path
        for role, splits in (("train", ready.train), ("dev", ready.dev), ("test", ready.test))
        for name in splits
    }
    recipe = resolved_config(ready.recipe, ready.tasks)
    package = Path(__file__).parents[1]
    return {
        "state": "running",
        "pid": os.getpid(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": command,
        "seed": ready.recipe.seed,
        "steps": ready.setup.steps,
        "backbone": ready.recipe.backbone,
        "device": str(ready.model.device),
        "computes_in": str(ready.model.bert.dtype).removeprefix("torch."),
        "skip_bad_rows": source.skip_bad_rows,
        "versions": {name: version(name) for name in ("torch", "tokenizers")}
        | {"minbert": __version__, "python": platform.python_version()},
        "recipe": recipe,
        # as the tasks name them; tasks/ has their full paths
        "files": {name: asdict(task.files) for name, task in ready.tasks.items()},
        "sha256": {
            "data": {name: sha256(path) for name, path in data.items()},
            "backbone": {path.name: sha256(path) for path in backbone_files(ready.backbone)},
            "recipe": hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest(),
            "code": hashlib.sha256(b"".join(p.read_bytes() for p in sorted(package.rglob("*.py")))).hexdigest(),
        },
    }


def backbone_files(folder: Path) -> list[Path]:
    """The files that make up a backbone: weights, configuration and vocabulary."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin", ".json", ".txt"))


def resolved_config(recipe: Recipe, tasks: Mapping[str, Task]) -> dict[str, Any]:
    """The recipe with every default and its tasks in full; it does not depend on where the files are."""
    table = resolve_recipe(recipe, tasks)
    for name, task in tasks.items():
        table["tasks"][name]["task"] = {key: value for key, value in task.as_settings().items() if key != "files"}
    # as it comes back from a file
    return json.loads(json.dumps(table))  # type: ignore[no-any-return]


def comparable_config(table: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved config without what does not affect results: descriptions, location of weights, what is logged."""
    kept: dict[str, Any] = json.loads(json.dumps(table))
    for name in ("about", "deviations", "backbone"):
        kept.pop(name, None)
    kept["selection"].pop("gradient_cosine_rows", None)
    if not kept["selection"].get("validation_fraction"):
        # 0 is the same as left out
        kept["selection"].pop("validation_fraction", None)
    for plan in kept["tasks"].values():
        plan.get("task", {}).pop("about", None)
    return kept


def declared_overall(path: Path) -> dict[str, float | OverallTerm]:
    """The terms of a run's overall score; none for a model without a run."""
    about = read_run(path) if (path / "run.json").is_file() else {}
    # merged runs have no recipe
    table = about.get("recipe", {}).get("overall") or about.get("overall_terms", {})
    return overall_from(table, str(path / "run.json"))


def check_same_run(path: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """A resumed run must have the recipe, data, backbone and precision that it started with."""
    # the weights are compared below, by their hashes
    recipes = differences(*(comparable_config(each["recipe"]) for each in (then, now)))
    changed = [f"recipe: {name} is {new}, it was {old}" for name, old, new in recipes]
    for what in ("data", "backbone"):
        old, new = then["sha256"][what], now["sha256"][what]
        changed += [f"{what}: {name} has changed" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    if then["computes_in"] != now["computes_in"]:
        changed.append(f"it computes in {now['computes_in']}, it computed in {then['computes_in']}")
    if changed:
        raise UserError(
            "\n".join([f"{path}: cannot be resumed, because it would be a different run:", *changed]),
            "Restore what has changed, or start a new run with another --out.",
        )


def version_differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Differences that may change the last digits of the result."""
    notes = [
        f"{name} {now['versions'][name]}, it was {old}: the result may differ from an uninterrupted run's"
        for name, old in then["versions"].items()
        if now["versions"].get(name) != old
    ]
    if then["sha256"]["code"] != now["sha256"]["code"]:
        notes.append("minbert's code has changed: the result may differ from an uninterrupted run's")
    return notes


def list_runs(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Every run below a folder with its run.json, the oldest first."""
    found = []
    for path in sorted(folder.rglob("run.json")):
        about = read_run(path.parent)
        if about.get("state") == "running" and not is_locked(path.parent):
            about |= {"state": "killed", "reason": "its process is gone; `minbert resume` continues it"}
        found.append((path.parent, about))
    return sorted(found, key=lambda run: str(run[1].get("started", "")))


def is_locked(path: Path) -> bool:
    try:
        with lock_run(path):
            return False
    except UserError:
        return True


def remove_checkpoints(path: Path) -> None:
    """A finished run has its model, so it is not resumed any more."""
    shutil.rmtree(path / "checkpoints", ignore_errors=True)


def dev_rows(path: Path, task: Task, source: DataSource) -> Dataset:
    """The dev rows of a run's task: the files it was scored on, or files of the same names below a data root."""
    if not (path / "run.json").is_file():
        raise UserError(
            f"{path}: a model without its run, so its dev files are not known.", "Name a file: --data TASK=FILE"
        )
    source = replace(source, skip_bad_rows=source.skip_bad_rows or bool(read_run(path).get("skip_bad_rows")))
    below = source.below_root(task.files.dev or "")
    if task.files.dev is None or below is None or not below.is_file():
        # no file of that name below the data root: use the files of the run
        task = replace(task, files=read_task(task.name, str((path / "tasks" / f"{task.name}.toml").resolve())).files)
    return source.read(task, "dev")
