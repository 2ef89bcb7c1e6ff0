"""(tasks, labeled rows, a function that predicts) -> scores, with progress events on the way."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import score
from minbert.inference.task_predictions import empty_predictions
from minbert.runs.events import Measuring, Scores
from minbert.runs.predictions import write_dev_predictions

# fills in the predictions for a task's rows; yields the fraction done
Fill = Callable[[str, npt.NDArray[Any]], Iterator[float]]


class Scoring:
    """Iterating over it scores every task and fills in `scores`."""

    def __init__(
        self, tasks: Mapping[str, Task], rows: Mapping[str, Dataset], fill: Fill, predictions: Path | None = None
    ) -> None:
        """`predictions`: the folder for the predictions of each task, if they are to be written."""
        self.tasks, self.rows, self.fill, self.predictions = tasks, rows, fill, predictions
        self.scores: Scores = {}

    def __iter__(self) -> Iterator[Measuring]:
        total = sum(len(dataset) for dataset in self.rows.values())
        done = 0
        for name, dataset in self.rows.items():
            task = self.tasks[name]
            assert dataset.labels is not None
            predictions = empty_predictions(task, len(dataset))
            for fraction in self.fill(name, predictions):
                yield Measuring(done + round(fraction * len(dataset)), total)
            done += len(dataset)
            self.scores[name] = score(task, predictions, dataset.labels)
            if self.predictions is not None:
                write_dev_predictions(self.predictions, task, dataset, predictions)
