"""(tasks, labelled rows, whoever answers) -> scores, telling how far it has come."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import score
from minbert.inference.formats import write_predictions
from minbert.inference.loop import empty_predictions
from minbert.runs.events import Measuring, Scores

# fills in the answers of a task's rows, telling how many rows each batch had
Fill = Callable[[str, npt.NDArray[Any]], Iterator[int]]


class Scoring:
    """Iterating over it scores every task; then `scores` has them."""

    def __init__(
        self, tasks: Mapping[str, Task], rows: Mapping[str, Dataset], fill: Fill, predictions: Path | None = None
    ) -> None:
        self.tasks, self.rows, self.fill, self.predictions = tasks, rows, fill, predictions
        self.scores: Scores = {}

    def __iter__(self) -> Iterator[Measuring]:
        total = sum(len(examples) for examples in self.rows.values())
        done = 0
        for name, examples in self.rows.items():
            task = self.tasks[name]
            assert examples.labels is not None
            answers = empty_predictions(task, len(examples))
            for rows in self.fill(name, answers):
                done += rows
                yield Measuring(done, total)
            self.scores[name] = score(task, answers, examples.labels)
            if self.predictions is not None:
                write_predictions(self.predictions / f"{name}-dev.csv", task, examples, answers)
