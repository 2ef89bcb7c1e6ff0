"""run + text -> answers."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from minbert.config.recipe import Precision
from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task
from minbert.data.batch import encode_texts, length_batches
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.encoder.device import to_device
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_backbone
from minbert.errors import UserError, did_you_mean
from minbert.inference.ensemble import Member, fill_ensemble_mean, load_members, member_tasks
from minbert.inference.job import Progress
from minbert.inference.loop import BUDGET, empty_predictions
from minbert.inference.predict_file import FilePrediction, Format
from minbert.inference.saved_model import load_model, model_folder
from minbert.model.poolings import POOLINGS


@dataclass(frozen=True)
class Prediction:
    """The answer to one example: a label with the probability of each, or a score."""

    label: str | None = None
    score: float | None = None
    probabilities: dict[str, float] | None = None


class Predictor:
    """A trained model that answers, or several that answer as one."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        # of several, the first
        self.model, self.text = members[0].model, members[0].text

    @property
    def tasks(self) -> dict[str, Task]:
        return member_tasks(self.members)

    def task(self, name: str) -> Task:
        if name not in self.tasks:
            raise UserError(f"This model has no task '{name}' that answers. {did_you_mean(name, self.tasks)}")
        return self.tasks[name]

    def predict(self, task: str, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[Prediction]:
        """Answers for texts, or for (text, text) pairs where the task compares two."""
        chosen = self.task(task)
        columns = text_columns(chosen, texts)
        answers = empty_predictions(chosen, len(columns[0]))
        for _ in self.fill(task, columns, answers):
            pass
        return [to_prediction(chosen, row) for row in answers]

    def fill(self, task: str, texts: tuple[list[str], ...], answers: npt.NDArray[Any]) -> Iterator[int]:
        """The same into an array (probabilities N x C, or scores N), telling how many rows each batch had."""
        yield from fill_ensemble_mean(self.members, task, texts, answers)

    def bulk(
        self,
        tasks: Sequence[str],
        source: str | Path,
        output: str | Path,
        *,
        form: Format = "auto",
        resume: bool = False,
        force: bool = False,
    ) -> FilePrediction:
        """A file of any length, ready to be answered by one or more tasks: iterating over it does the work."""
        for name in tasks:
            self.task(name)
        return FilePrediction(self.members, tasks, Path(source), Path(output), form=form, resume=resume, force=force)

    def predict_file(
        self,
        tasks: str | Sequence[str],
        source: str | Path,
        output: str | Path,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> Progress:
        """Answers for all rows of a csv, tsv, jsonl or parquet file, into another; tells how many there were."""
        names = [tasks] if isinstance(tasks, str) else tasks
        (last,) = deque(self.bulk(names, source, output, resume=resume, force=force), maxlen=1)
        return last

    def embed(
        self, texts: Sequence[str], pooling: Spec = "mean", *, normalize: bool = False, max_length: int = 128
    ) -> npt.NDArray[np.float32]:
        """One vector a text from the shared encoder, N x D; of several models, the first's."""
        if isinstance(texts, str):
            raise UserError("embed takes a list of texts, not one text.", "Put it into a list.")
        texts = list(texts)
        bert = self.model.bert
        vectors = np.empty((len(texts), bert.config.hidden_size), np.float32)
        for _ in fill_vectors(bert, self.text, texts, vectors, pooling, normalize=normalize, max_length=max_length):
            pass
        return vectors


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
            raise UserError(f"Task '{task.name}' reads {wanted} an example, not {row!r:.200}.")
    return tuple([row[i] for row in rows] for i in range(len(task.text)))


def to_prediction(task: Task, row: npt.NDArray[Any]) -> Prediction:
    if task.kind == "score":
        return Prediction(score=float(row))
    probabilities = dict(zip(task.display_labels, (float(p) for p in row), strict=True))
    return Prediction(label=task.display_labels[int(row.argmax())], probabilities=probabilities)


def load_encoder(name: str, precision: Precision = "auto") -> tuple[Bert, Tokenizer]:
    """The encoder of a run or of a backbone."""
    if model_folder(Path(name)) is not None:
        model, text = load_model(Path(name), precision)
        return model.bert, text
    bert, text = load_backbone(find_backbone(name))
    to_device(bert, precision, inference=True)
    return bert.eval(), text


def fill_vectors(
    bert: Bert,
    text: Tokenizer,
    texts: Sequence[str],
    vectors: npt.NDArray[np.float32],
    pooling: Spec = "mean",
    *,
    normalize: bool = False,
    max_length: int = 128,
) -> Iterator[int]:
    """Fill in one vector a text, N x D; tells how many texts each batch had."""
    pool = build_technique("pooling", POOLINGS, pooling, "embed", bert)
    if list(pool.parameters()):
        raise UserError("embed: this pooling learns its weights with a task.", "Take mean, max, cls or pooler.")
    sequences = encode_texts(
        text, (list(texts),), "cross_encoder", min(max_length, bert.config.max_position_embeddings)
    )
    for rows in length_batches(sequences.tokens, BUDGET):
        bert.eval()
        with torch.inference_mode():
            packed = sequences.pack(rows).to(bert.pooler.weight.device)
            some = pool(bert(packed, pool.reads).float(), packed.firsts if pool.reads == "first" else packed)
            if normalize:
                some = torch.nn.functional.normalize(some, dim=1)
            vectors[rows] = some.float().cpu().numpy()
        yield len(rows)
