"""Predictions of a run and its leaks -> the scores without the rows that are also training rows."""

from collections.abc import Callable, Mapping
from typing import Any

from minbert.config.task import Task
from minbert.data.leaks import SplitLeaks
from minbert.data.metrics import Array, score
from minbert.runs.constants import constant_scores
from minbert.runs.controls import Controls
from minbert.runs.events import Scores

# the task, its predictions, and its labels
Predicted = tuple[Task, Array, Array]
# the scores without leaked rows: of the model, of the constant answer and of the untrained backbone
WITHOUT = ("scores_without", "constant_without", "probe_without")


def leak_record(
    leaks: SplitLeaks, predicted: Callable[[str], Predicted], controls: Mapping[str, Controls]
) -> dict[str, Any]:
    """For run.json: the leaked rows of each task, the rows that they occur in, and the scores without them.

    `predicted`: a task's name -> its predictions; `controls`: as far as they are known. The untrained backbone is only
    scored on dev rows.
    """
    where = "in_training_rows_of" if leaks.split == "dev" else "in_training_or_dev_rows_of"
    record: dict[str, Any] = {}
    for name, rows in leaks.counts.items():
        found = {pair.train: pair.examples for pair in leaks.pairs if pair.dev == name}
        record[name] = {"rows": rows, where: found, **dict.fromkeys(WITHOUT)}
        clean_N, known = ~leaks.rows[name], controls.get(name)
        if clean_N.any():
            task, values, labels = predicted(name)
            without = score(task, values[clean_N], labels[clean_N])
            constant = constant_scores(task, known.answer, labels[clean_N]) if known else None
            probe = known.probe_without if known and leaks.split == "dev" else None
            record[name] |= zip(WITHOUT, (without, constant, probe), strict=True)
    return record


def scores_without_leaks(record: Mapping[str, Any]) -> Scores:
    """Of the tasks whose rows leak, unless all of them do."""
    return {name: found["scores_without"] for name, found in record.items() if found["scores_without"] is not None}
