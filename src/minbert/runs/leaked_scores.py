"""A run's dev predictions and its leaks -> the scores without the dev rows that are also training rows."""

from pathlib import Path
from typing import Any

from minbert.data.leaks import SplitLeaks
from minbert.data.metrics import score
from minbert.runs.events import Scores
from minbert.runs.predictions import read_dev_predictions


def scores_without_leaks(out: Path, leaks: SplitLeaks) -> Scores:
    """Of the tasks whose dev rows leak, unless all of them do."""
    scores = {}
    for name in leaks.counts:
        clean_N = ~leaks.rows[name]
        if clean_N.any():
            found = read_dev_predictions(out, name)
            scores[name] = score(found.task, found.values[clean_N], found.labels[clean_N])
    return scores


def leak_record(leaks: SplitLeaks, without: Scores) -> dict[str, Any]:
    """For run.json: the leaked rows of each task, the training rows that they occur in, and the scores without them."""
    return {
        "leaks": {
            name: {
                "rows": rows,
                "in_training_rows_of": {pair.train: pair.examples for pair in leaks.pairs if pair.dev == name},
                "scores_without": without.get(name),
            }
            for name, rows in leaks.counts.items()
        }
    }
