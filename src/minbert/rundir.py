"""A run's directory: make, save, load.

recipe.toml and tasks/ (as resolved), run.json (state, versions, fingerprints, scores), metrics.jsonl,
events/ (TensorBoard), curves.png, predictions/, model/ (the best model: transformers loads its encoder).
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomli_w
from safetensors.torch import load_file, save_file

from minbert.errors import UserError
from minbert.model import Model
from minbert.pretrained import load_backbone, save_backbone
from minbert.recipe import Recipe, TaskPlan
from minbert.task import Task, task_from
from minbert.text import Text
from minbert.variants import fill

FORMAT = 1


def create(path: Path, force: bool) -> None:
    """An empty run directory. What is there already stays, unless it is an old run and `force` is said."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not force:
            raise UserError(
                f"{path}: exists already; a run needs a directory of its own.",
                "Name another --out, or replace the old run with --force.",
            )
        if not (path / "run.json").is_file():
            raise UserError(f"{path}: is not a run, so --force does not remove it.", "Name another --out.")
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)


def write_recipe(path: Path, recipe: Recipe, tasks: dict[str, Task]) -> None:
    """The recipe as it was resolved, its tasks beside it: `minbert train RUN/recipe.toml` does it again."""
    table = recipe.as_table()
    (path / "tasks").mkdir()
    for name, task in tasks.items():
        table["tasks"][name]["task"] = f"tasks/{name}.toml"
        settings = tomli_w.dumps(task.as_settings())
        (path / "tasks" / f"{name}.toml").write_text(settings, encoding="utf-8")
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
        raise UserError(f"{path}: not a run: it has no run.json.", "`minbert train RECIPE --out RUN` makes one.") from None
    except ValueError as wrong:
        raise UserError(f"{path / 'run.json'}: not JSON: {wrong}") from None
    assert isinstance(run, dict)
    return run


def about_this_run(recipe: Recipe, files: dict[str, Path], backbone: Path, data_root: Path | None) -> dict[str, Any]:
    """What a reader needs to know to trust the numbers or to get them again."""
    weights = [backbone / name for name in ("model.safetensors", "pytorch_model.bin", "tokenizer.json", "vocab.txt")]
    return {
        "state": "running",
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "command": " ".join(sys.argv),
        "seed": recipe.seed,
        "backbone": recipe.backbone,
        "data_root": None if data_root is None else str(data_root.resolve()),
        "versions": {name: version(name) for name in ("minbert", "torch", "tokenizers")}
        | {"python": platform.python_version()},
        "sha256": {
            "data": {name: sha256(path) for name, path in files.items()},
            "backbone": {path.name: sha256(path) for path in weights if path.is_file()},
            "recipe": hashlib.sha256(recipe.as_toml().encode()).hexdigest(),
        },
    }


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- models -------------------------------------------------------------------------------------------


def save_model(folder: Path, model: Model, text: Text, plans: dict[str, TaskPlan]) -> None:
    """The whole model in a folder of its own, swapped into place when it is complete."""
    aside = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(aside, ignore_errors=True)
    save_backbone(aside, model.bert, text)
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in model.parts.state_dict().items()}
    save_file(state, aside / "tasks.safetensors")
    tasks = {
        name: {
            "task": model.task(name).task.as_settings(),
            "plan": {k: v for k, v in asdict(plans[name]).items() if v is not None},
        }
        for name in model.parts
    }
    write_json(aside / "minbert.json", {"format": FORMAT, "tasks": tasks})
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        folder.rename(old)
    aside.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def model_folder(path: Path) -> Path | None:
    """The folder of the trained model in a run, or the path itself if it is such a folder."""
    for folder in (path / "model", path, path / "model.old"):
        if (folder / "minbert.json").is_file():
            return folder
    return None


def load_model(path: Path) -> tuple[Model, Text]:
    """The best model of a run."""
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
    model = Model(bert, tasks, plans)
    model.parts.load_state_dict(load_file(folder / "tasks.safetensors"))
    return model.eval(), text
