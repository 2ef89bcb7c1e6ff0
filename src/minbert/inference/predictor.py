"""run + texts -> predictions."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.recipe import Precision
from minbert.config.schema import Spec
from minbert.config.task import Task
from minbert.data.metrics import predicted_classes
from minbert.errors import UserError, did_you_mean
from minbert.inference.embedder import Embedder
from minbert.inference.ensemble import EnsemblePredictions, Member, load_members, member_tasks
from minbert.inference.predict_file import FilePrediction, FormatChoice
from minbert.inference.resumable_job import Progress
from minbert.inference.task_predictions import TaskPredictions


@dataclass(frozen=True)
class Prediction:
    """The prediction for one example: a label with the probability of each label, or a score."""

    label: str | None = None
    score: float | None = None
    probabilities: dict[str, float] | None = None


class Predictor:
    """A trained model, or several that predict as one."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        # of several models, the first
        self.model, self.tokenizer = members[0].model, members[0].tokenizer

    @property
    def tasks(self) -> dict[str, Task]:
        return member_tasks(self.members)

    def task(self, name: str) -> Task:
        if name not in self.tasks:
            raise UserError(f"This model has no task '{name}' that it can predict. {did_you_mean(name, self.tasks)}")
        return self.tasks[name]

    def predict(self, task: str, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[Prediction]:
        """Predictions for texts, or for (text, text) pairs where the task compares two."""
        chosen = self.task(task)
        columns = dict(zip(chosen.text, text_columns(chosen, texts), strict=True))
        return [to_prediction(chosen, row) for row in self.predict_columns([task], columns)[task].values]

    def predict_columns(self, tasks: Sequence[str], columns: Mapping[str, list[str]]) -> dict[str, TaskPredictions]:
        """Several tasks at once, as exact numbers; `columns` has the texts under the names that the tasks have."""
        for name in tasks:
            self.task(name)
        ensemble = EnsemblePredictions(self.members, tasks, columns)
        for _ in ensemble:
            pass
        return ensemble.predictions

    def fill(self, task: str, texts: tuple[list[str], ...], predictions: npt.NDArray[Any]) -> Iterator[float]:
        """One task into an array (probabilities N x C, or scores N); yields the fraction done."""
        columns = dict(zip(self.task(task).text, texts, strict=True))
        ensemble = EnsemblePredictions(self.members, [task], columns)
        yield from ensemble
        predictions[...] = ensemble.predictions[task].values

    def bulk(
        self,
        tasks: Sequence[str],
        source: str | Path,
        output: str | Path,
        *,
        text: Sequence[str] = (),
        output_format: FormatChoice = "auto",
        resume: bool = False,
        force: bool = False,
    ) -> FilePrediction:
        """A file of any length for one or more tasks: iterating over it does the work and yields the progress.

        `text`: the file's names of the text columns, if they are not those of the tasks.
        """
        for name in tasks:
            self.task(name)
        return FilePrediction(
            self.members,
            tasks,
            Path(source),
            Path(output),
            text=text,
            output_format=output_format,
            resume=resume,
            force=force,
        )

    def predict_file(
        self,
        tasks: str | Sequence[str],
        source: str | Path,
        output: str | Path,
        *,
        text: Sequence[str] = (),
        resume: bool = False,
        force: bool = False,
    ) -> Progress:
        """Predictions for all rows of a csv, tsv, jsonl or parquet file, into another; returns how many there were."""
        names = [tasks] if isinstance(tasks, str) else tasks
        (last,) = deque(self.bulk(names, source, output, text=text, resume=resume, force=force), maxlen=1)
        return last

    def embed(
        self, texts: Sequence[str], pooling: Spec = "mean", *, normalize: bool = False, max_length: int = 128
    ) -> npt.NDArray[np.float32]:
        """One vector per text from the shared encoder, N x D; of several models, from the first."""
        if isinstance(texts, str):
            raise UserError("embed takes a list of texts, not one text.", "Put it into a list.")
        embedder = Embedder(self.model.bert, self.tokenizer, pooling, normalize=normalize, max_length=max_length)
        return embedder.embed(list(texts))


def load_predictor(path: str | Path, precision: Precision = "auto") -> Predictor:
    """The model of a run, or the models of an ensemble."""
    return Predictor(load_members(Path(path), precision))


def text_columns(task: Task, texts: Sequence[str] | Sequence[Sequence[str]]) -> tuple[list[str], ...]:
    """Rows of one or two texts -> columns of texts."""
    if isinstance(texts, str):
        raise UserError("predict takes a list of texts, not one text.", "Put it into a list.")
    texts = list(texts)
    if not task.paired and all(isinstance(row, str) for row in texts):
        return ([str(row) for row in texts],)
    rows = [tuple(row) if isinstance(row, list | tuple) else (row,) for row in texts]
    for row in rows:
        if len(row) != len(task.text) or not all(isinstance(text, str) for text in row):
            wanted = "a pair of texts" if task.paired else "one text"
            raise UserError(f"Task '{task.name}' reads {wanted} per example, not {row!r:.200}.")
    return tuple([row[i] for row in rows] for i in range(len(task.text)))


def to_prediction(task: Task, row: npt.NDArray[Any]) -> Prediction:
    if task.kind == "score":
        return Prediction(score=float(row))
    probabilities = dict(zip(task.display_labels, (float(p) for p in row), strict=True))
    label = task.display_labels[int(predicted_classes(row[None], task.threshold)[0])]
    return Prediction(label=label, probabilities=probabilities)
