"""A folder with several trained models that predict as one: the mean over those that have the task."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from minbert.config.recipe import Precision
from minbert.config.task import Task
from minbert.data.tokenizer import Tokenizer
from minbert.errors import UserError
from minbert.inference.saved_model import load_model
from minbert.inference.task_groups import fill_tasks
from minbert.inference.task_predictions import TaskPredictions, mean_predictions
from minbert.model.multitask import Model

ENSEMBLE_FORMAT = 1


@dataclass(frozen=True)
class Member:
    model: Model
    tokenizer: Tokenizer
    # those that it predicts in this ensemble
    tasks: tuple[str, ...]

    @staticmethod
    def with_all_tasks(model: Model, tokenizer: Tokenizer) -> "Member":
        return Member(model, tokenizer, tuple(name for name, part in model.tasks.items() if part.loss.predicts))


def load_members(path: Path, precision: Precision = "auto") -> list[Member]:
    """The models of an ensemble; of a run, its one model."""
    listed = path / "ensemble.json"
    if not listed.is_file():
        return [Member.with_all_tasks(*load_model(path, precision))]
    saved = json.loads(listed.read_text(encoding="utf-8"))
    if saved.get("format") != ENSEMBLE_FORMAT:
        raise UserError(f"{path}: written by another version of minbert (format {saved.get('format')}).")
    members = []
    for each in saved["members"]:
        model, tokenizer = load_model(path / each["folder"], precision)
        members.append(Member(model, tokenizer, tuple(each["tasks"])))
    return members


def member_tasks(members: Sequence[Member]) -> dict[str, Task]:
    """The tasks that one or more members predict, each as the first of these defines it."""
    found: dict[str, Task] = {}
    for member in members:
        for name in member.tasks:
            found.setdefault(name, member.model.task(name).task)
    return found


class EnsemblePredictions:
    """The predictions of some tasks for the rows of some columns, of one model or the mean over several.

    Iterating over it computes them and yields the fraction done; then `predictions` has those of each task.
    """

    def __init__(self, members: Sequence[Member], names: Sequence[str], columns: Mapping[str, list[str]]) -> None:
        """`columns`: by the names that `member_tasks` has for them."""
        tasks = member_tasks(members)
        self.members = [member for member in members if set(names) & set(member.tasks)]
        self.reads = {name: tasks[name].text for name in names}
        self.columns = columns
        self.predictions: dict[str, TaskPredictions] = {}

    def __iter__(self) -> Iterator[float]:
        found: dict[str, list[TaskPredictions]] = {name: [] for name in self.reads}
        for number, member in enumerate(self.members):
            reads = {name: columns for name, columns in self.reads.items() if name in member.tasks}
            own: dict[str, TaskPredictions] = {}
            for fraction in fill_tasks(member.model, member.tokenizer, reads, self.columns, own):
                yield (number + fraction) / len(self.members)
            for name, predictions in own.items():
                found[name].append(predictions)
        self.predictions = {name: mean_predictions(each) for name, each in found.items()}
