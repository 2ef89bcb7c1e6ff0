"""Probabilities and labels -> the confusion matrix, and precision and recall of each label.

N rows, C classes.
"""

from dataclasses import dataclass

import numpy as np

from minbert.analysis.calibration import Calibration, calibrate
from minbert.config.task import Task
from minbert.data.metrics import Array, confusion, divide, predicted_classes


@dataclass(frozen=True)
class LabelScore:
    label: str
    precision: float
    recall: float
    f1: float
    # rows with this gold label, and rows with this predicted label
    support: int
    predicted: int


@dataclass(frozen=True)
class ClassificationAnalysis:
    labels: tuple[LabelScore, ...]
    # one row per gold label, one column per predicted label
    confusion: tuple[tuple[int, ...], ...]
    # Matthews correlation: 1 is perfect, 0 is no better than chance, whatever the label frequencies
    matthews: float
    calibration: Calibration


def analyze_classification(task: Task, probabilities_NC: Array, labels_N: Array) -> ClassificationAnalysis:
    counts_CC = confusion(predicted_classes(probabilities_NC, task.threshold), labels_N, probabilities_NC.shape[1])
    hit_C, predicted_C, gold_C = np.diag(counts_CC).astype(float), counts_CC.sum(0), counts_CC.sum(1)
    precision_C, recall_C = divide(hit_C, predicted_C), divide(hit_C, gold_C)
    f1_C = divide(2 * precision_C * recall_C, precision_C + recall_C)
    columns = (each.tolist() for each in (precision_C, recall_C, f1_C, gold_C, predicted_C))
    return ClassificationAnalysis(
        labels=tuple(LabelScore(*row) for row in zip(task.display_labels, *columns, strict=True)),
        confusion=tuple(tuple(row) for row in counts_CC.tolist()),
        matthews=matthews_correlation(counts_CC),
        calibration=calibrate(probabilities_NC, labels_N),
    )


def matthews_correlation(counts_CC: Array) -> float:
    """For any number of classes (Gorodkin 2004); 0 if there is only one gold label or only one predicted label."""
    counts_CC = counts_CC.astype(float)
    rows, gold_C, predicted_C = counts_CC.sum(), counts_CC.sum(1), counts_CC.sum(0)
    spread = (rows**2 - (gold_C**2).sum()) * (rows**2 - (predicted_C**2).sum())
    return float((np.trace(counts_CC) * rows - gold_C @ predicted_C) / np.sqrt(spread)) if spread > 0 else 0.0
