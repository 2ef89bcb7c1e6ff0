"""Probabilities and labels -> which labels are taken for which, and how well each is found.

N rows, C classes.
"""

from dataclasses import dataclass

import numpy as np

from minbert.analysis.calibration import Calibration, calibrate
from minbert.config.task import Task
from minbert.data.metrics import Array, confusion, divide


@dataclass(frozen=True)
class LabelScore:
    label: str
    # of the rows with this answer, the share that is right
    precision: float
    # of the rows with this label, the share that is found
    recall: float
    f1: float
    # rows with this label, and with this answer
    support: int
    answered: int


@dataclass(frozen=True)
class Classes:
    labels: tuple[LabelScore, ...]
    # a row for each true label, a column for each answer
    confusion: tuple[tuple[int, ...], ...]
    # Matthews correlation: 1 is perfect, 0 no better than chance however the labels are spread
    matthews: float
    calibration: Calibration


def analyze_classes(task: Task, probabilities_NC: Array, labels_N: Array) -> Classes:
    counts_CC = confusion(probabilities_NC.argmax(1), labels_N, probabilities_NC.shape[1])
    hit_C, answered_C, true_C = np.diag(counts_CC).astype(float), counts_CC.sum(0), counts_CC.sum(1)
    precision_C, recall_C = divide(hit_C, answered_C), divide(hit_C, true_C)
    f1_C = divide(2 * precision_C * recall_C, precision_C + recall_C)
    columns = (each.tolist() for each in (precision_C, recall_C, f1_C, true_C, answered_C))
    return Classes(
        labels=tuple(LabelScore(*row) for row in zip(task.display_labels, *columns, strict=True)),
        confusion=tuple(tuple(row) for row in counts_CC.tolist()),
        matthews=matthews(counts_CC),
        calibration=calibrate(probabilities_NC, labels_N),
    )


def matthews(counts_CC: Array) -> float:
    """For any number of classes (Gorodkin 2004); 0 where only one label is answered, or true."""
    counts_CC = counts_CC.astype(float)
    rows, true_C, answered_C = counts_CC.sum(), counts_CC.sum(1), counts_CC.sum(0)
    spread = (rows**2 - (true_C**2).sum()) * (rows**2 - (answered_C**2).sum())
    return float((np.trace(counts_CC) * rows - true_C @ answered_C) / np.sqrt(spread)) if spread > 0 else 0.0
