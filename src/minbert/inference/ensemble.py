"""A folder with several trained models that answer as one: the mean of the answers of those that have the task."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from minbert.config.recipe import Precision
from minbert.config.task import Task
from minbert.data.tokenizer import Tokenizer
from minbert.errors import UserError
from minbert.inference.loop import empty_predictions, encode_for_task, fill_predictions
from minbert.inference.saved_model import load_model
from minbert.model.multitask import Model

ENSEMBLE_FORMAT = 1


@dataclass(frozen=True)
class Member:
    model: Model
    text: Tokenizer
    # those that it is asked for
    tasks: tuple[str, ...]

    @staticmethod
    def whole(model: Model, text: Tokenizer) -> "Member":
        """A model that is asked for all that it can answer."""
        return Member(model, text, tuple(name for name, part in model.tasks.items() if part.loss.predicts))


def load_members(path: Path, precision: Precision = "auto") -> list[Member]:
    """The models of an ensemble; of a run, its one model."""
    listed = path / "ensemble.json"
    if not listed.is_file():
        return [Member.whole(*load_model(path, precision))]
    saved = json.loads(listed.read_text(encoding="utf-8"))
    if saved.get("format") != ENSEMBLE_FORMAT:
        raise UserError(f"{path}: written by another version of minbert (format {saved.get('format')}).")
    members = []
    for each in saved["members"]:
        model, text = load_model(path / each["folder"], precision)
        members.append(Member(model, text, tuple(each["tasks"])))
    return members


def member_tasks(members: Sequence[Member]) -> dict[str, Task]:
    """The tasks that one member or more answer, each as the first of these knows it."""
    found: dict[str, Task] = {}
    for member in members:
        for name in member.tasks:
            found.setdefault(name, member.model.task(name).task)
    return found


def fill_ensemble_mean(
    members: Sequence[Member], name: str, texts: tuple[list[str], ...], answers: npt.NDArray[Any]
) -> Iterator[int]:
    """Fill in the mean of the members' answers; tells how many rows were finished by each batch."""
    asked = [member for member in members if name in member.tasks]
    answers[...] = 0
    for number, member in enumerate(asked, start=1):
        own = empty_predictions(member.model.task(name).task, len(answers))
        sequences = encode_for_task(member.model, name, member.text, texts)
        for rows in fill_predictions(member.model, name, sequences, own):
            # a row is finished when the last member has answered it
            yield rows if number == len(asked) else 0
        answers += own / len(asked)
