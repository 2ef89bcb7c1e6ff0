"""What is learned and answered: rows of three tasks, and samples of them."""

import csv
import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.sizes import BATCH

# rows that transformers sorts by length at once, where there are as many: 50 batches
POOL = 50 * BATCH
SEED = 0


@dataclass(frozen=True)
class Rows:
    """One or two columns of text, and the labels: class numbers or scores."""

    texts: tuple[list[str], ...]
    labels: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Sequence[int]) -> "Rows":
        return Rows(tuple([column[i] for i in rows] for column in self.texts), self.labels[list(rows)])


@dataclass(frozen=True)
class TaskRows:
    """A task: the table of its task file without the files, its labels as written (none: it is a score), its rows."""

    name: str
    settings: dict[str, Any]
    labels: tuple[str, ...]
    train: Rows
    dev: Rows

    @property
    def paired(self) -> bool:
        return len(self.train.texts) == 2

    def only(self, train: Sequence[int], dev: Sequence[int]) -> "TaskRows":
        return replace(self, train=self.train.take(train), dev=self.dev.take(dev))

    def sample(self, train: int, dev: int) -> "TaskRows":
        """That many rows, always the same ones."""
        return self.only(shuffled(len(self.train), train), shuffled(len(self.dev), dev))


def shuffled(total: int, count: int) -> list[int]:
    """`count` of the numbers below `total` in a fixed random order, over and over where there are too few."""
    order = list(range(total))
    random.Random(SEED).shuffle(order)
    return [order[i % total] for i in range(count)]


def typical_batches(batches: Sequence[Sequence[int]], lengths: Sequence[int], count: int) -> list[list[int]]:
    """Some of the batches that stand for all: evenly from the one of the shortest rows to that of the longest."""
    whole = [list(batch) for batch in batches if len(batch) == len(batches[0])]
    whole.sort(key=lambda batch: sum(lengths[i] for i in batch))
    count = min(count, len(whole))
    return [whole[int((i + 0.5) * len(whole) / count)] for i in range(count)]


def sentences(tasks: Sequence[TaskRows], count: int) -> list[str]:
    """Different single texts of all tasks, mixed; each fits on a line."""
    texts = dict.fromkeys(
        " ".join(text.split())
        for task in tasks
        for rows in (task.train, task.dev)
        for col in rows.texts
        for text in col
    )
    known = [text for text in texts if text]
    return [known[i] for i in shuffled(len(known), count)]


def pairs(tasks: Sequence[TaskRows], count: int) -> list[tuple[str, str]]:
    """Pairs of texts of all tasks that compare two, mixed."""
    known = [pair for task in tasks if task.paired for pair in zip(task.dev.texts[0], task.dev.texts[1], strict=True)]
    return [known[i] for i in shuffled(len(known), count)]


def write_rows(path: Path, task: TaskRows, rows: Rows) -> Path:
    """A tab-separated file with the task's own columns."""
    columns, label = task.settings["text"], task.settings["label"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["id", *columns, label])
        for i, (*texts, answer) in enumerate(zip(*rows.texts, rows.labels, strict=True)):
            writer.writerow([i, *texts, task.labels[answer] if task.labels else float(answer)])
    return path


def read_back(folder: Path, name: str) -> TaskRows:
    """A task from its file and the files of its rows, as a script around the peers would read them."""
    settings = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    labels = tuple(str(label) for label in settings.get("labels", ()))

    def read(path: Path) -> Rows:
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file, delimiter="\t"))
        texts = tuple([row[column] for row in found] for column in settings["text"])
        written = [row[settings["label"]] for row in found]
        return Rows(texts, np.array([labels.index(value) if labels else float(value) for value in written]))

    train, dev = (read(folder / settings["files"][part]) for part in ("train", "dev"))
    return TaskRows(name, settings, labels, train, dev)
