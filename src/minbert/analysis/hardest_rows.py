"""Predictions -> the dev rows that a model gets most wrong, with their texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from minbert.analysis.dev_rows import losses_of, spelled
from minbert.analysis.regression import fifth_of
from minbert.analysis.row_tags import tags_at
from minbert.data.metrics import Array
from minbert.runs.predictions import DevPredictions

# of all rows, and of each label, each tag, and the right answers: whatever a reader filters by, there is something
MOST, EACH = 200, 20


@dataclass(frozen=True)
class Example:
    # its place in the dev rows, from 0
    row: int
    id: str
    texts: tuple[str, ...]
    # as people read them
    gold: str
    answer: str
    # None for scores
    right: bool | None
    # of the answer, and of gold; None for scores
    probability: float | None
    gold_probability: float | None
    # answer - gold; None for classes
    error: float | None
    # -ln p of gold, or the absolute error
    loss: float
    tags: tuple[str, ...]


def hardest(given: DevPredictions, tagged: Mapping[str, Array]) -> tuple[Example, ...]:
    """The highest loss first: a sure and wrong answer comes before a doubtful one."""
    losses_N = losses_of(given)
    # equal losses in the order of the file
    order = np.argsort(-losses_N, kind="stable")
    chosen = set(order[:MOST].tolist())
    for at_N in groups(given, tagged):
        chosen.update(order[at_N[order]][:EACH].tolist())
    return tuple(example_at(given, int(row), float(losses_N[row]), tagged) for row in order if int(row) in chosen)


def groups(given: DevPredictions, tagged: Mapping[str, Array]) -> Iterator[Array]:
    yield from tagged.values()
    if given.task.kind == "classify":
        yield given.answers.argmax(1) == given.labels
        yield from (given.labels == label for label in range(len(given.task.labels)))
    else:
        fifth_N, _ = fifth_of(given.task, given.labels)
        yield from (fifth_N == i for i in range(5))


def example_at(given: DevPredictions, row: int, loss: float, tagged: Mapping[str, Array]) -> Example:
    task, gold = given.task, given.labels[row]
    sure = task.kind == "classify"
    answer = given.answers[row].argmax() if sure else given.answers[row]
    return Example(
        row=row,
        id=given.ids[row],
        texts=tuple(column[row] for column in given.texts),
        gold=spelled(task, gold),
        answer=spelled(task, answer),
        right=bool(answer == gold) if sure else None,
        probability=float(given.answers[row].max()) if sure else None,
        gold_probability=float(given.answers[row, gold]) if sure else None,
        error=None if sure else float(answer - gold),
        loss=loss,
        tags=tags_at(row, tagged),
    )
