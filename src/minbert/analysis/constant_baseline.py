"""Labels -> the scores of the best constant prediction: the most frequent label, or the mean score."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minbert.analysis.dev_rows import label_text
from minbert.config.task import Task
from minbert.data.metrics import Array, score


@dataclass(frozen=True)
class ConstantBaseline:
    # the same for every row
    prediction: str
    scores: Mapping[str, float]


def constant_baseline(task: Task, labels_N: Array) -> ConstantBaseline:
    """Chosen on the dev rows themselves; its class probabilities are the label frequencies."""
    if task.kind == "classify":
        frequency_C = np.bincount(labels_N, minlength=len(task.labels)) / len(labels_N)
        predictions, constant = np.tile(frequency_C, (len(labels_N), 1)), float(frequency_C.argmax())
    else:
        constant = float(labels_N.mean())
        predictions = np.full(len(labels_N), constant)
    # a threshold belongs to a model's probabilities
    return ConstantBaseline(label_text(task, constant), score(task.with_threshold(None), predictions, labels_N))
