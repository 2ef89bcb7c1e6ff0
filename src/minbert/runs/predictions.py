"""predictions/TASK-dev.npz of a run <-> its dev rows, with the predictions exactly as the model made them.

Statistics and analyses read this file. TASK-dev.csv beside it has the same rows for people, rounded.
N rows, C classes.
"""

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minbert.config.task import Task, read_task
from minbert.data.dataset import Dataset
from minbert.data.metrics import Array, predicted_classes
from minbert.errors import UserError
from minbert.files import fsync_path, move_file
from minbert.inference.formats import write_predictions

# what numpy and zipfile raise on a damaged file
DAMAGE = (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile)


@dataclass(frozen=True)
class DevPredictions:
    task: Task
    ids: list[str]
    texts: tuple[list[str], ...]
    # class numbers or scores, N
    labels: Array
    # probabilities N x C, or scores N
    values: Array

    @property
    def predicted(self) -> Array:
        """The predicted class numbers or scores, N."""
        return predicted_classes(self.values, self.task.threshold) if self.task.kind == "classify" else self.values

    def for_metric(self, metric: str) -> Array:
        """What a metric is computed from: where a threshold decides, 0 and 1, for all but the log loss."""
        if self.task.threshold is None or metric == "log_loss":
            return self.values
        decided: Array = np.eye(len(self.task.labels))[self.predicted]
        return decided


# ---- write --------------------------------------------------------------------------------------------


def write_dev_predictions(folder: Path, task: Task, dataset: Dataset, predictions: Array) -> None:
    """The predictions of the dev rows of a task: exact as .npz, readable as .csv."""
    assert dataset.labels is not None
    write_predictions(folder / f"{task.name}-dev.csv", task, dataset, predictions)
    arrays = {"predictions": predictions, "labels": dataset.labels, **pack_strings("ids", dataset.ids)}
    if task.threshold is not None:
        # fitted after training, so the task's file does not have it
        arrays["threshold"] = np.array(task.threshold)
    for number, texts in enumerate(dataset.texts):
        arrays |= pack_strings(f"texts_{number}", texts)
    path = folder / f"{task.name}-dev.npz"
    aside = path.with_name(f"{path.name}.tmp")
    with aside.open("wb") as file:
        # mypy takes one of the arrays for allow_pickle
        np.savez(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    move_file(aside, path)
    fsync_path(folder)


def pack_strings(name: str, values: Sequence[str]) -> dict[str, Array]:
    """UTF-8 bytes and lengths: numpy's own strings are as wide as the longest, and lose NULs at the end."""
    encoded = [value.encode("utf-8") for value in values]
    lengths = np.array([len(value) for value in encoded], dtype=np.int64)
    return {f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}_lengths": lengths}


# ---- read ---------------------------------------------------------------------------------------------


def read_dev_predictions(run: Path, name: str) -> DevPredictions:
    """What a run predicted for the dev rows of one of its tasks; its scores can be recomputed from it."""
    path, settings = run / "predictions" / f"{name}-dev.npz", run / "tasks" / f"{name}.toml"
    if not settings.is_file():
        raise UserError(f"{run}: has no task '{name}': there is no {settings}.", "Name the folder of a finished run.")
    next_step = f"Train it again: minbert train {run / 'recipe.toml'} --out {run} --force"
    if not path.is_file():
        raise UserError(f"{path}: no such file, so the run's predictions are not known.", next_step)
    task = read_task(name, str(settings.resolve()))
    try:
        arrays = read_arrays(path)
        ids = unpack_strings(arrays, "ids")
        texts = tuple(unpack_strings(arrays, f"texts_{number}") for number in range(len(task.text)))
        labels, predictions = arrays["labels"], arrays["predictions"]
        task = task.with_threshold(float(arrays["threshold"]) if "threshold" in arrays else None)
    except DAMAGE as wrong:
        raise UserError(f"{path}: damaged: {wrong!s:.300}.", next_step) from None
    problem = find_problem(task, [*texts, ids], labels, predictions)
    if problem:
        raise UserError(f"{path}: {problem}.", next_step)
    # the same numbers, but computed with in double precision
    return DevPredictions(
        task, ids, texts, labels.astype(np.int64 if task.kind == "classify" else np.float64), predictions.astype(float)
    )


def read_arrays(path: Path) -> dict[str, Array]:
    """Every array of the file; zip checks their checksums."""
    with path.open("rb") as file:
        # a zip file begins like this; numpy would take anything else for a single array, or for a pickle
        if file.read(2) != b"PK":
            raise ValueError("not a .npz file")
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def unpack_strings(arrays: dict[str, Array], name: str) -> list[str]:
    data, lengths = arrays[f"{name}_bytes"].tobytes(), arrays[f"{name}_lengths"]
    if lengths.sum() != len(data):
        raise ValueError(f"{name} has {len(data)} bytes, not {lengths.sum()}")
    ends = np.cumsum(lengths).tolist()
    return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends, strict=False)]


def find_problem(task: Task, columns: Sequence[Sequence[str]], labels: Array, predictions: Array) -> str:
    """What does not fit the task, or is not a number; empty where everything is as it should be."""
    rows = len(labels)
    shape = (rows, len(task.labels)) if task.kind == "classify" else (rows,)
    if not rows:
        return "has no rows"
    if predictions.shape != shape:
        return f"has predictions of shape {predictions.shape}; task '{task.name}' with {rows} labels has {shape}"
    if any(len(column) != rows for column in columns):
        return f"has {rows} labels and {', '.join(str(len(column)) for column in columns)} texts and ids"
    usable = np.isfinite(predictions.reshape(rows, -1)).all(1) & np.isfinite(labels)
    if not usable.all():
        return f"row {int(usable.argmin()) + 1}: the prediction or the label is not a number"
    if task.kind == "classify" and not 0 <= labels.min() <= labels.max() < len(task.labels):
        return f"has labels from {labels.min()} to {labels.max()}; task '{task.name}' has {len(task.labels)}"
    return ""
