"""A trained model in a folder: save, load. transformers can load its encoder."""

import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from minbert.config.recipe import Precision, TaskPlan
from minbert.config.schema import fill_settings
from minbert.config.task import Files, task_from
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.init import seeded_init
from minbert.encoder.pretrained import load_backbone, save_backbone, save_tensors
from minbert.errors import UserError
from minbert.files import replace_folder, write_json
from minbert.model.multitask import Model
from minbert.model.resolve import resolve_plan

MODEL_FORMAT = 1


def save_model(folder: Path, model: Model, tokenizer: Tokenizer, files: Mapping[str, Files] | None = None) -> None:
    """Write the whole model to a folder, moved into place when it is complete.

    `files`: the data files that the saved tasks name; without it, those of the model's own tasks.
    """
    aside = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(aside, ignore_errors=True)
    save_backbone(aside, model.bert, tokenizer)
    state = {f"{name}.{key}": tensor for name, part in model.tasks.items() for key, tensor in part.state_dict().items()}
    shared = {f"shared/{key}": tensor for key, tensor in model.shared.state_dict().items()}
    save_tensors(state | shared, aside / "tasks.safetensors")
    tasks = {
        name: {
            "task": (replace(part.task, files=files[name]) if files else part.task).as_settings(),
            # regularizers are for training only
            "plan": resolve_plan(replace(part.plan, regularizers=()), part.task, f"task '{name}'"),
            "temperature": part.temperature,
        }
        for name, part in model.tasks.items()
    }
    write_json(aside / "minbert.json", {"format": MODEL_FORMAT, "tasks": tasks})
    replace_folder(aside, folder)


def save_calibration(folder: Path, temperature: Mapping[str, float], threshold: Mapping[str, float | None]) -> None:
    """Add the temperature and the decision threshold of each task to a saved model."""
    saved = json.loads((folder / "minbert.json").read_text(encoding="utf-8"))
    for name, value in temperature.items():
        saved["tasks"][name]["temperature"] = value
        if threshold[name] is not None:
            saved["tasks"][name]["task"]["threshold"] = threshold[name]
    write_json(folder / "minbert.json", saved)


def model_folder(path: Path) -> Path | None:
    """The folder of the trained model in a run, or the path itself if it is one."""
    for folder in (path / "model", path, path / "model.old"):
        if (folder / "minbert.json").is_file():
            return folder
    return None


def load_model(path: Path, precision: Precision = "auto") -> tuple[Model, Tokenizer]:
    """The best model of a run, ready for inference."""
    folder = model_folder(path)
    if folder is None:
        if not path.exists():
            raise UserError(f"{path}: no such run.", "Create it with: minbert train FILE --out RUN")
        if (path / "run.json").is_file():
            raise UserError(
                f"{path}: this run was not finished, and holds no trained model yet.",
                f"Continue it:  minbert resume {shlex.quote(str(path))}",
            )
        raise UserError(f"{path}: holds no trained model.", "Create one with: minbert train FILE --out RUN")
    saved = json.loads((folder / "minbert.json").read_text(encoding="utf-8"))
    if saved.get("format") != MODEL_FORMAT:
        raise UserError(f"{folder}: written by another version of minbert (format {saved.get('format')}).")
    where = str(folder / "minbert.json")
    tasks = {name: task_from(name, folder, entry["task"], where) for name, entry in saved["tasks"].items()}
    plans = {
        name: fill_settings(TaskPlan, entry["plan"], where, f"task '{name}'") for name, entry in saved["tasks"].items()
    }
    bert, tokenizer = load_backbone(folder)
    with seeded_init(0):  # the initial weights are replaced at once, but drawing them uses random numbers
        model = Model(bert, tasks, plans, where)
    path = folder / "tasks.safetensors"
    try:
        state = load_file(path)
    except (SafetensorError, OSError) as wrong:
        raise UserError(f"{path}: the weights cannot be read: {wrong}", "Train the run again.") from None
    for name, part in model.tasks.items():
        part.temperature = float(saved["tasks"][name].get("temperature", 1.0))
        own = {key.removeprefix(f"{name}."): tensor for key, tensor in state.items() if key.startswith(f"{name}.")}
        part.load_state_dict(own)
    shared = {key.removeprefix("shared/"): tensor for key, tensor in state.items() if key.startswith("shared/")}
    model.shared.load_state_dict(shared)
    model.to_device(precision, inference=True)
    return model.eval(), tokenizer
