"""Training rows and dev rows of all tasks -> the dev rows that are also training rows, of any task. In the same way,
the test rows that are also training or dev rows.

A copy counts regardless of case, punctuation and the order of a pair. N: dev or test rows of a task.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from minbert.data.dataset import Dataset
from minbert.data.text_keys import ExampleKey
from minbert.errors import UserError

RowMask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TaskTrainingRows:
    """The training rows of one task: whole rows, and single texts."""

    rows: frozenset[ExampleKey]
    texts: frozenset[str]


@dataclass(frozen=True)
class TaskLeak:
    """Dev rows of one task that occur in the training rows of a task: the whole row, or one of its texts.

    Of test rows: those that occur in the training or dev rows of a task.
    """

    # the task whose dev or test rows they are
    dev: str
    # the task whose training rows, or training and dev rows, have them
    train: str
    examples: int
    texts: int
    # the first of them, with its file and line
    sample: str


@dataclass(frozen=True)
class SplitLeaks:
    """All leaks of the dev rows, or of the test rows, of a recipe."""

    # one for each task with dev rows and each task with training rows
    pairs: tuple[TaskLeak, ...]
    # by task: which dev rows occur as whole rows in the training rows of any task, N
    rows: Mapping[str, RowMask]
    split: Literal["dev", "test"] = "dev"

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each task leak as whole rows, without the tasks that have none."""
        return {name: int(leaked_N.sum()) for name, leaked_N in self.rows.items() if leaked_N.any()}

    def sentence(self, name: str) -> str:
        """How many rows of a task leak, into which training rows, and the first of them."""
        found = [pair for pair in self.pairs if pair.dev == name and pair.examples]
        where = ", ".join(f"{pair.examples:,} of '{pair.train}'" for pair in found)
        leaked_N = self.rows[name]
        known = "training rows" if self.split == "dev" else "training or dev rows"
        return (
            f"{name}: {leaked_N.sum():,} of {len(leaked_N):,} {self.split} rows are also {known} ({where}), "
            f"such as {found[0].sample}"
        )


def index_training_rows(keys: Sequence[ExampleKey]) -> TaskTrainingRows:
    rows = frozenset(keys)
    return TaskTrainingRows(rows, frozenset(text for row in rows for text in row if text))


def leak_masks(keys: Sequence[ExampleKey], known: TaskTrainingRows) -> tuple[RowMask, RowMask]:
    """Which rows are training rows of a task, and which have at least one text in them, N each."""
    whole_N = np.fromiter((key in known.rows for key in keys), bool, len(keys))
    return whole_N, whole_N | np.fromiter((not known.texts.isdisjoint(key) for key in keys), bool, len(keys))


def find_split_leaks(
    train: Mapping[str, Sequence[ExampleKey]],
    dev: Mapping[str, Sequence[ExampleKey]],
    rows: Mapping[str, Dataset],
    split: Literal["dev", "test"] = "dev",
) -> SplitLeaks:
    """`train`, `dev`: the keys of each task's rows; `rows`: the dev rows themselves.

    With the split `test`: the keys of training and dev rows, those of test rows, and the test rows.
    """
    known = {name: index_training_rows(keys) for name, keys in train.items()}
    pairs, leaked = [], {}
    for name, keys in dev.items():
        leaked[name] = np.zeros(len(keys), bool)
        for other, each in known.items():
            whole_N, text_N = leak_masks(keys, each)
            leaked[name] |= whole_N
            sample = sample_row(rows[name], whole_N if whole_N.any() else text_N)
            pairs.append(TaskLeak(name, other, int(whole_N.sum()), int(text_N.sum()), sample))
    return SplitLeaks(tuple(pairs), leaked, split)


def sample_row(dataset: Dataset, at_N: RowMask) -> str:
    """The first of some rows, with its file and line; empty if there is none."""
    if not at_N.any():
        return ""
    row = int(at_N.argmax())
    text = " | ".join(" ".join(column[row].split()) for column in dataset.texts)
    return f"{dataset.path.name}:{dataset.lines[row]}: {text if len(text) <= 80 else text[:79] + '…'}"


def refuse_leaks(*found: SplitLeaks) -> None:
    """Stop if a dev row is also a training row, or a test row one of both."""
    sentences = [leaks.sentence(name) for leaks in found for name in leaks.counts]
    if sentences:
        raise UserError("\n".join(sentences), "Remove these rows from one of the files, or train without --strict.")
