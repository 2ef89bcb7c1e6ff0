"""Predictions -> the dev rows with the highest loss, with their texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minbert.analysis.dev_rows import label_text, row_losses
from minbert.analysis.regression import fifth_of
from minbert.analysis.row_tags import tags_at
from minbert.data.metrics import Array
from minbert.runs.predictions import DevPredictions

# of all rows, and of each label, each tag and the correct rows, so that every filter of the report finds some rows
HARDEST, HARDEST_PER_GROUP = 200, 20


@dataclass(frozen=True)
class HardRow:
    # its position in the dev rows, from 0
    row: int
    id: str
    texts: tuple[str, ...]
    # as displayed
    gold: str
    prediction: str
    # None for scores
    correct: bool | None
    # of the predicted label, and of the gold label; None for scores
    probability: float | None
    gold_probability: float | None
    # prediction - gold; None for classes
    error: float | None
    # -ln p of gold, or the absolute error
    loss: float
    tags: tuple[str, ...]


def hardest_rows(predictions: DevPredictions, tagged: Mapping[str, Array]) -> tuple[HardRow, ...]:
    """The highest loss first: a confident error comes before an uncertain one."""
    losses_N = row_losses(predictions)
    # rows with equal losses stay in file order
    order = np.argsort(-losses_N, kind="stable")
    chosen = set(order[:HARDEST].tolist())
    for at_N in filter_groups(predictions, tagged):
        chosen.update(order[at_N[order]][:HARDEST_PER_GROUP].tolist())
    return tuple(hard_row(predictions, int(row), float(losses_N[row]), tagged) for row in order if int(row) in chosen)


def filter_groups(predictions: DevPredictions, tagged: Mapping[str, Array]) -> Iterator[Array]:
    yield from tagged.values()
    if predictions.task.kind == "classify":
        yield predictions.predicted == predictions.labels
        yield from (predictions.labels == label for label in range(len(predictions.task.labels)))
    else:
        fifth_N, _ = fifth_of(predictions.task, predictions.labels)
        yield from (fifth_N == i for i in range(5))


def hard_row(predictions: DevPredictions, row: int, loss: float, tagged: Mapping[str, Array]) -> HardRow:
    task, gold = predictions.task, predictions.labels[row]
    is_class = task.kind == "classify"
    predicted = predictions.predicted[row]
    return HardRow(
        row=row,
        id=predictions.ids[row],
        texts=tuple(column[row] for column in predictions.texts),
        gold=label_text(task, gold),
        prediction=label_text(task, predicted),
        correct=bool(predicted == gold) if is_class else None,
        probability=float(predictions.values[row].max()) if is_class else None,
        gold_probability=float(predictions.values[row, gold]) if is_class else None,
        error=None if is_class else float(predicted - gold),
        loss=loss,
        tags=tags_at(row, tagged),
    )
