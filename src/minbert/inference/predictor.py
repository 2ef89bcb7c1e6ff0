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
from minbert.config.task import Label, Task
from minbert.data.metrics import predicted_classes
from minbert.errors import UserError, did_you_mean
from minbert.inference.embedder import Embedder
from minbert.inference.ensemble import EnsemblePredictions, Member, load_members, member_tasks
from minbert.inference.predict_file import FilePrediction, FormatChoice
from minbert.inference.resumable_job import Progress
from minbert.inference.task_predictions import TaskPredictions
from minbert.inference.text_input import read_texts


@dataclass(frozen=True)
class Prediction:
    """The prediction for one example: a label with the probability of each label, or a score."""

    # of the type that it has in the data, as the task lists it: a string, a number or a boolean; else its name
    label: Label | None = None
    score: float | None = None
    probabilities: dict[Label, float] | None = None


class Predictor:
    """A trained model, or several that predict as one."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        # of several models, the first
        self.model, self.tokenizer = members[0].model, members[0].tokenizer

    def __repr__(self) -> str:
        several = f"{len(self.members)} models, " if len(self.members) > 1 else ""
        return f"Predictor({several}tasks: {', '.join(self.tasks)})"

    @property
    def tasks(self) -> dict[str, Task]:
        """What the model can predict: the name of each task, with its columns, labels or range, and metric."""
        return member_tasks(self.members)

    def task(self, name: str) -> Task:
        if name not in self.tasks:
            raise UserError(f"This model has no task '{name}' that it can predict. {did_you_mean(name, self.tasks)}")
        return self.tasks[name]

    def predict(self, task: Any = None, texts: Any = None) -> list[Prediction]:
        """One prediction per text, or per (text, text) pair where the task compares two: predict(task, texts).

        `task`: its name; of a model with one task, it may be left out: predict(texts). `texts`: a list, an array or a
        Series; or a DataFrame or Dataset, of which the task's columns are read.
        """
        if texts is None:
            task, texts = self.only_task(task), task
        chosen = self.task(self.only_task(texts) if task is None else task)
        found = read_texts(texts, f"Task '{chosen.name}'", chosen.text, (len(chosen.text),))
        columns = dict(zip(chosen.text, found, strict=True))
        return [to_prediction(chosen, row) for row in self.predict_columns([chosen.name], columns)[chosen.name].values]

    def only_task(self, texts: Any) -> str:
        """The task of texts that name none."""
        first = next(iter(self.tasks))
        if texts is None or (isinstance(texts, str) and texts in self.tasks):
            raise UserError("predict: no texts are given.", f'For example: predict("{first}", ["A fine film."])')
        if len(self.tasks) > 1:
            raise UserError(
                f"predict: name the task; this model has the tasks {', '.join(self.tasks)}.",
                f'For example: predict("{first}", texts)',
            )
        return first

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
        self, texts: Any, pooling: Spec = "mean", *, normalize: bool = False, max_length: int = 128
    ) -> npt.NDArray[np.float32]:
        """One vector per text from the shared encoder, N x D; of several models, from the first.

        `texts`: a list, an array or a Series, or a DataFrame of one column.
        """
        (column,) = read_texts(texts, "embed", counts=(1,))
        embedder = Embedder(self.model.bert, self.tokenizer, pooling, normalize=normalize, max_length=max_length)
        return embedder.embed(column)


def load_predictor(path: str | Path, precision: Precision = "auto") -> Predictor:
    """The model of a run, or the models of an ensemble."""
    return Predictor(load_members(Path(path), precision))


def to_prediction(task: Task, row: npt.NDArray[Any]) -> Prediction:
    if task.kind == "score":
        return Prediction(score=float(row))
    labels = task.label_names or task.labels
    probabilities: dict[Label, float] = dict(zip(labels, (float(p) for p in row), strict=True))
    label = labels[int(predicted_classes(row[None], task.threshold)[0])]
    return Prediction(label=label, probabilities=probabilities)
