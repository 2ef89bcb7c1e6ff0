"""A run's directory: make, save, load.

recipe.toml and tasks/ (as resolved), run.json (state, versions, fingerprints, scores), metrics.jsonl,
events/ (TensorBoard), curves.png, predictions/, model/ (the best model: transformers loads its encoder).
"""

import hashlib
import json
import os
import platform
import shlex
import shutil
import sys
import time
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w
from safetensors.torch import load_file, save_file

from minbert import __version__
from minbert.errors import UserError
from minbert.model import Model
from minbert.prepare import Prepared, seeded, written_out
from minbert.pretrained import load_backbone, save_backbone
from minbert.recipe import Precision, TaskPlan
from minbert.table import Examples, locate, read_examples, read_split
from minbert.task import Task, read_task, task_from
from minbert.text import Text
from minbert.variants import fill

FORMAT = 1


def check_free(path: Path, force: bool) -> None:
    """A run needs a directory of its own: refuse one that holds anything, but for an old run if `force` is said."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not force:
        raise UserError(
            f"{path}: exists already; a run needs a directory of its own.",
            "Name another --out, or replace the old run with --force.",
        )
    if not (path / "run.json").is_file():
        raise UserError(f"{path}: is not a run, so --force does not remove it.", "Name another --out.")

    if read_run(path).get("state") == "running" and alive(read_run(path).get("pid")):
        raise UserError(f"{path}: the run there is still going (process {read_run(path)['pid']}).", "Stop it first.")


def alive(pid: object) -> bool:
    """Whether a process of this number is there."""
    try:
        os.kill(pid if isinstance(pid, int) else -1, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return isinstance(pid, int)


def create(path: Path, about: dict[str, Any], force: bool) -> None:
    """A run directory that says at once what it is."""
    check_free(path, force)
    if path.exists() and any(path.iterdir()):
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / "run.json", about)


def write_recipe(path: Path, ready: Prepared) -> None:
    """The recipe as it was resolved, its tasks beside it: `minbert train RUN/recipe.toml` does it again."""
    table = written_out(ready.recipe, ready.tasks)
    (path / "tasks").mkdir()
    for name, task in ready.tasks.items():
        table["tasks"][name]["task"] = f"tasks/{name}.toml"
        settings = task.as_settings()
        for part, rows in (("train", ready.train), ("dev", ready.dev)):
            if part in settings["files"]:
                settings["files"][part] = str(rows[name].examples.path.resolve())
        (path / "tasks" / f"{name}.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    (path / "recipe.toml").write_text(tomli_w.dumps(table), encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all: a reader never sees half a file."""
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def read_run(path: Path) -> dict[str, Any]:
    """run.json of a run."""
    try:
        run = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{path}: not a run: it has no run.json.", "`minbert train RECIPE --out RUN` makes one."
        ) from None
    except ValueError as wrong:
        raise UserError(f"{path / 'run.json'}: not JSON: {wrong}") from None
    assert isinstance(run, dict)
    return run


def about_this_run(ready: Prepared, skip_bad_rows: bool) -> dict[str, Any]:
    """What a reader needs to know to trust the numbers or to get them again."""
    data = {
        f"{name} {part}": rows[name].examples.path
        for part, rows in (("train", ready.train), ("dev", ready.dev))
        for name in ready.tasks
    }
    backbone = [path for path in ready.backbone.iterdir() if path.suffix in (".safetensors", ".bin", ".json", ".txt")]
    package = Path(__file__).parent
    return {
        "state": "running",
        "pid": os.getpid(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": shlex.join(sys.argv),
        "seed": ready.recipe.seed,
        "backbone": ready.recipe.backbone,
        "device": str(ready.model.device),
        "computes_in": str(ready.model.bert.dtype).removeprefix("torch."),
        "skip_bad_rows": skip_bad_rows,
        "versions": {name: version(name) for name in ("torch", "tokenizers")}
        | {"minbert": __version__, "python": platform.python_version()},
        "sha256": {
            "data": {name: sha256(path) for name, path in data.items()},
            "backbone": {path.name: sha256(path) for path in sorted(backbone)},
            "recipe": hashlib.sha256(ready.recipe.as_toml().encode()).hexdigest(),
            "code": hashlib.sha256(b"".join(p.read_bytes() for p in sorted(package.rglob("*.py")))).hexdigest(),
        },
    }


def dev_rows(path: Path, task: Task, data_root: Path | None, skip_bad_rows: bool) -> Examples:
    """The dev rows of a run's task: the files it was measured on, or those of the same names below a data root."""
    if not (path / "run.json").is_file():
        raise UserError(
            f"{path}: a model without its run, so its dev files are not known.", "Name a file: --data TASK=FILE"
        )
    skip = skip_bad_rows or bool(read_run(path).get("skip_bad_rows"))
    if data_root is None or task.files.dev is None or not (data_root / task.files.dev).is_file():
        # nothing of that name below the data root: the very files of the run
        task = replace(task, files=read_task(task.name, str((path / "tasks" / f"{task.name}.toml").resolve())).files)
    if task.files.dev is None:
        return read_split(task, data_root, skip_bad_rows=skip)[2]
    return read_examples(locate(task, "dev", data_root), task, skip_bad_rows=skip)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- models -------------------------------------------------------------------------------------------


def save_model(folder: Path, model: Model, text: Text, plans: dict[str, TaskPlan]) -> None:
    """The whole model in a folder of its own, swapped into place when it is complete."""
    aside = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(aside, ignore_errors=True)
    save_backbone(aside, model.bert, text)
    state = {
        f"{name}.{key}": tensor.detach().cpu().contiguous()
        for name, part in model.tasks.items()
        for key, tensor in part.state_dict().items()
    } | {f"shared/{key}": tensor.detach().cpu().contiguous() for key, tensor in model.shared.state_dict().items()}
    save_file(state, aside / "tasks.safetensors")
    tasks = {
        name: {
            "task": part.task.as_settings(),
            "plan": {k: v for k, v in asdict(plans[name]).items() if v is not None},
        }
        for name, part in model.tasks.items()
    }
    write_json(aside / "minbert.json", {"format": FORMAT, "tasks": tasks})
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def model_folder(path: Path) -> Path | None:
    """The folder of the trained model in a run, or the path itself if it is such a folder."""
    for folder in (path / "model", path, path / "model.old"):
        if (folder / "minbert.json").is_file():
            return folder
    return None


def load_model(path: Path, precision: Precision = "auto") -> tuple[Model, Text]:
    """The best model of a run, ready to answer."""
    folder = model_folder(path)
    if folder is None:
        if not path.exists():
            raise UserError(f"{path}: no such run.", "`minbert train RECIPE --out RUN` makes one.")
        raise UserError(f"{path}: holds no trained model.", "`minbert train RECIPE --out RUN` makes one.")
    saved = json.loads((folder / "minbert.json").read_text(encoding="utf-8"))
    if saved.get("format") != FORMAT:
        raise UserError(f"{folder}: written by another version of minbert (format {saved.get('format')}).")
    where = str(folder / "minbert.json")
    tasks = {name: task_from(name, folder, entry["task"], where) for name, entry in saved["tasks"].items()}
    plans = {name: fill(TaskPlan, entry["plan"], where, f"task '{name}'") for name, entry in saved["tasks"].items()}
    bert, text = load_backbone(folder)
    with seeded(0):  # the fresh heads are replaced at once, but making them draws random numbers
        model = Model(bert, tasks, plans, where)
    state = load_file(folder / "tasks.safetensors")
    for name, part in model.tasks.items():
        own = {key.removeprefix(f"{name}."): tensor for key, tensor in state.items() if key.startswith(f"{name}.")}
        part.load_state_dict(own)
    shared = {key.removeprefix("shared/"): tensor for key, tensor in state.items() if key.startswith("shared/")}
    model.shared.load_state_dict(shared)
    model.place(precision, answering=True)
    return model.eval(), text
