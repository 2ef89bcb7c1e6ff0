"""Labels -> what a model scores that does not read: the commonest label, or the mean score, for every row."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minbert.analysis.dev_rows import classes, spelled
from minbert.config.task import Task
from minbert.data.metrics import Array, score


@dataclass(frozen=True)
class Baseline:
    # what it always answers
    answer: str
    scores: Mapping[str, float]


def baseline_of(task: Task, labels_N: Array) -> Baseline:
    """By the dev rows themselves: no constant answer is better. Its probabilities are the shares of the labels."""
    if task.kind == "classify":
        share_C = np.bincount(labels_N, minlength=classes(task)) / len(labels_N)
        answers, answer = np.tile(share_C, (len(labels_N), 1)), float(share_C.argmax())
    else:
        answer = float(labels_N.mean())
        answers = np.full(len(labels_N), answer)
    return Baseline(spelled(task, answer), score(task, answers, labels_N))
