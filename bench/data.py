"""The rows of the three tasks, and samples of them."""

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

# the number of rows that transformers sorts by length at a time: 50 batches
POOL = 50 * BATCH
SEED = 0


@dataclass(frozen=True)
class Rows:
    """One or two columns of text, and the labels: class indices or scores."""

    texts: tuple[list[str], ...]
    labels: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Sequence[int]) -> "Rows":
        return Rows(tuple([column[i] for i in rows] for column in self.texts), self.labels[list(rows)])


@dataclass(frozen=True)
class TaskRows:
    """A task: its settings without the files, its labels as written (empty for scores), and its rows."""

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
        """A fixed sample of this many rows."""
        return self.only(shuffled(len(self.train), train), shuffled(len(self.dev), dev))


def shuffled(total: int, count: int) -> list[int]:
    """`count` of the numbers below `total` in a fixed random order, repeated if there are too few."""
    order = list(range(total))
    random.Random(SEED).shuffle(order)
    return [order[i % total] for i in range(count)]


def typical_batches(batches: Sequence[Sequence[int]], lengths: Sequence[int], count: int) -> list[list[int]]:
    """A representative sample of the batches, evenly spread from the shortest rows to the longest."""
    whole = [list(batch) for batch in batches if len(batch) == len(batches[0])]
    whole.sort(key=lambda batch: sum(lengths[i] for i in batch))
    count = min(count, len(whole))
    return [whole[int((i + 0.5) * len(whole) / count)] for i in range(count)]


def sentences(tasks: Sequence[TaskRows], count: int) -> list[str]:
    """Distinct single texts from all tasks, shuffled; each on one line."""
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
    """Text pairs from all tasks that have pairs, shuffled."""
    known = [pair for task in tasks if task.paired for pair in zip(task.dev.texts[0], task.dev.texts[1], strict=True)]
    return [known[i] for i in shuffled(len(known), count)]


def write_rows(path: Path, task: TaskRows, rows: Rows) -> Path:
    """Write a tab-separated file with the columns of the task."""
    columns, label = task.settings["text"], task.settings["label"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["id", *columns, label])
        for i, (*texts, value) in enumerate(zip(*rows.texts, rows.labels, strict=True)):
            writer.writerow([i, *texts, task.labels[value] if task.labels else float(value)])
    return path


def read_back(folder: Path, name: str) -> TaskRows:
    """Read a task and its rows from files, as a script that uses the peers would."""
    settings = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    labels = tuple(str(label) for label in settings.get("labels", ()))

    def read(path: Path) -> Rows:
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file, delimiter="\t"))
        texts = tuple([row[column] for row in found] for column in settings["text"])
        values = [row[settings["label"]] for row in found]
        return Rows(texts, np.array([labels.index(value) if labels else float(value) for value in values]))

    train, dev = (read(folder / settings["files"][part]) for part in ("train", "dev"))
    return TaskRows(name, settings, labels, train, dev)
