"""(the labels of training rows, other rows) -> the rows whose label no training row has, and the scores without them.

A model cannot learn these labels, so it is wrong about such rows. They count as errors, as in scikit-learn's metrics,
and this says so. N rows.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.leaks import RowMask
from minbert.data.metrics import Array, score
from minbert.runs.constants import ConstantAnswer


@dataclass(frozen=True)
class UnseenLabels:
    # which rows have such a label, N
    rows: RowMask
    # such labels, the most frequent first
    labels: dict[str, int]
    # the first row, as file:line
    sample: str

    @property
    def count(self) -> int:
        return int(self.rows.sum())


def find_unseen_labels(task: Task, dataset: Dataset, trained: Collection[int]) -> UnseenLabels | None:
    """`trained`: the class numbers of training rows. None if they have all labels, or if the task has scores."""
    if task.kind != "classify":
        return None
    assert dataset.labels is not None
    unseen_N = ~np.isin(dataset.labels, list(trained))
    if not unseen_N.any():
        return None
    counts = Counter(task.display_labels[label] for label in dataset.labels[unseen_N])
    sample = f"{dataset.path.name}:{dataset.lines[int(unseen_N.argmax())]}"
    return UnseenLabels(unseen_N, dict(counts.most_common()), sample)


def unseen_record(task: Task, dataset: Dataset, predictions: Array, answer: ConstantAnswer | None) -> dict[str, Any]:
    """For run.json: the rows, their labels, and the scores without them; empty if there are no such rows.

    `answer`: the constant answer, which has the frequency of each label in the training rows, as far as it is known.
    """
    frequencies = answer if isinstance(answer, dict) else {}
    trained = [number for number, label in enumerate(task.label_texts) if frequencies.get(label)]
    found = find_unseen_labels(task, dataset, trained) if trained else None
    if found is None or dataset.labels is None:
        return {}
    others_N = ~found.rows
    without = score(task, predictions[others_N], dataset.labels[others_N]) if others_N.any() else None
    return {"rows": found.count, "labels": found.labels, "sample": found.sample, "scores_without": without}
