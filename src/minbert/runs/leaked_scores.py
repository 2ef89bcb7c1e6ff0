"""Predictions of a run and its leaks -> the scores without the rows that are also training rows."""

from collections.abc import Callable, Mapping
from typing import Any

from minbert.config.task import Task
from minbert.data.leaks import SplitLeaks
from minbert.data.metrics import Array, score
from minbert.runs.constants import ConstantAnswer, constant_scores
from minbert.runs.events import Scores

# the task, its predictions, and its labels
Predicted = tuple[Task, Array, Array]


def leak_record(
    leaks: SplitLeaks, predicted: Callable[[str], Predicted], answers: Mapping[str, ConstantAnswer]
) -> dict[str, Any]:
    """For run.json: the leaked rows of each task, the rows that they occur in, and the scores without them.

    `predicted`: a task's name -> its predictions; `answers`: the constant answers, as far as they are known.
    """
    where = "in_training_rows_of" if leaks.split == "dev" else "in_training_or_dev_rows_of"
    record: dict[str, Any] = {}
    for name, rows in leaks.counts.items():
        known = {pair.train: pair.examples for pair in leaks.pairs if pair.dev == name}
        record[name] = {"rows": rows, where: known, "scores_without": None, "constant_without": None}
        clean_N = ~leaks.rows[name]
        if clean_N.any():
            task, values, labels = predicted(name)
            record[name]["scores_without"] = score(task, values[clean_N], labels[clean_N])
            if name in answers:
                record[name]["constant_without"] = constant_scores(task, answers[name], labels[clean_N])
    return record


def scores_without_leaks(record: Mapping[str, Any]) -> Scores:
    """Of the tasks whose rows leak, unless all of them do."""
    return {name: found["scores_without"] for name, found in record.items() if found["scores_without"] is not None}
