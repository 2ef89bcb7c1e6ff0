"""The predictions of a task for some rows, and their mean over several models.

N rows, C labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task

if TYPE_CHECKING:
    from torch import Tensor

Values = TypeVar("Values", npt.NDArray[Any], "Tensor")


@dataclass(frozen=True)
class TaskPredictions:
    task: Task
    # probabilities N x C, or scores N
    values: npt.NDArray[Any]
    # whether a row was too long to be read to its end, N; None: not known
    truncated: npt.NDArray[np.bool_] | None = None


def empty_predictions(task: Task, count: int) -> npt.NDArray[Any]:
    """An array for the predictions: probabilities N x C, or scores N."""
    return np.empty((count, len(task.labels)) if task.kind == "classify" else count, np.float32)


def mean_over_models(values: Sequence[Values]) -> Values:
    """Added in the order of the models, then divided: the same bits wherever a row is in its batch."""
    total = values[0]
    for each in values[1:]:
        total = total + each
    return total / len(values)


def mean_predictions(predictions: Sequence[TaskPredictions]) -> TaskPredictions:
    """The mean over several models; a row counts as truncated if one of them truncated it."""
    truncated = [each.truncated for each in predictions if each.truncated is not None]
    return TaskPredictions(
        predictions[0].task,
        mean_over_models([each.values for each in predictions]),
        np.logical_or.reduce(truncated) if truncated else None,
    )
