"""(tasks, labeled rows, a function that predicts) -> scores, with progress events on the way."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.metrics import direction, score
from minbert.inference.loop import fill_predictions
from minbert.inference.task_predictions import empty_predictions
from minbert.model.multitask import Model
from minbert.runs.events import Measuring, Scores
from minbert.runs.predictions import write_dev_predictions
from minbert.training.prepare import Split

# rows of a task that a temperature is fitted on
CALIBRATION_ROWS = 2000

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
        # by task: probabilities N x C, or scores N
        self.predicted: dict[str, npt.NDArray[Any]] = {}

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
            self.predicted[name] = predictions
            if self.predictions is not None:
                write_dev_predictions(self.predictions, task, dataset, predictions)


def scoring_of(model: Model, splits: Mapping[str, Split], predictions: Path | None = None) -> Scoring:
    """A model on rows that are encoded for it, without the tasks that only train the encoder."""
    scored = {name: split for name, split in splits.items() if model.task(name).loss.predicts}

    def fill(name: str, values: npt.NDArray[Any]) -> Iterator[float]:
        return fill_predictions(model, [name], scored[name].encoded, {name: values})

    tasks = {name: model.task(name).task for name in scored}
    return Scoring(tasks, {name: split.dataset for name, split in scored.items()}, fill, predictions)


def fixed_sample(split: Split, rows: int | None) -> Split:
    """A fixed random sample of the rows, for scoring during training."""
    if rows is None or rows >= len(split.dataset):
        return split
    chosen = np.sort(np.random.default_rng(0).choice(len(split.dataset), rows, replace=False))
    return Split(split.dataset.take(chosen), split.encoded.take(chosen))


def main_metrics(tasks: Mapping[str, Task], scores: Scores) -> dict[str, float]:
    return {name: direction(tasks[name].metric) * found[tasks[name].metric] for name, found in scores.items()}
