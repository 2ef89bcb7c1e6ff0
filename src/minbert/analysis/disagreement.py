"""Two runs on the very same dev rows -> where one is right and the other is not."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from minbert.analysis.dev_rows import losses_of, spelled
from minbert.data.metrics import Array
from minbert.errors import UserError
from minbert.runs.predictions import DevPredictions

# rows shown, each way
MOST = 100


@dataclass(frozen=True)
class Contrast:
    """A row that two runs answer differently."""

    row: int
    id: str
    texts: tuple[str, ...]
    gold: str
    first: str
    second: str
    # -ln p of gold, or the absolute error
    first_loss: float
    second_loss: float


@dataclass(frozen=True)
class Disagreement:
    """Classes: which of two runs is right; scores: which is nearer to gold."""

    # rows of which only the first run is right, and only the second
    first: int
    second: int
    # rows of which both are right, or neither; for scores: both as near, and none
    both: int
    neither: int
    # how often chance alone would split the disagreements as unevenly (McNemar's exact test; the sign test of scores)
    p: float
    # the greatest differences of loss first
    first_better: tuple[Contrast, ...]
    second_better: tuple[Contrast, ...]


def disagree(first: DevPredictions, second: DevPredictions, names: tuple[str, str]) -> Disagreement:
    check_same_rows(first, second, names)
    losses_N, other_N = losses_of(first), losses_of(second)
    if first.task.kind == "classify":
        right_N, right_too_N = (each.answers.argmax(1) == each.labels for each in (first, second))
        one_N, two_N = right_N & ~right_too_N, right_too_N & ~right_N
        both = int((right_N & right_too_N).sum())
    else:
        one_N, two_N = losses_N < other_N, other_N < losses_N
        both = int((losses_N == other_N).sum())
    ones, twos = int(one_N.sum()), int(two_N.sum())

    def contrasts(at_N: Array) -> tuple[Contrast, ...]:
        rows = np.flatnonzero(at_N)
        apart = np.abs(losses_N - other_N)[rows]
        chosen = rows[np.argsort(-apart, kind="stable")[:MOST]].tolist()
        return tuple(contrast(first, second, row, float(losses_N[row]), float(other_N[row])) for row in chosen)

    return Disagreement(
        first=ones,
        second=twos,
        both=both,
        neither=len(losses_N) - ones - twos - both,
        p=float(binomtest(ones, ones + twos).pvalue) if ones + twos else 1.0,
        first_better=contrasts(one_N),
        second_better=contrasts(two_N),
    )


def check_same_rows(first: DevPredictions, second: DevPredictions, names: tuple[str, str]) -> None:
    """Counts of disagreements mean something only where both answered the same questions."""
    task, wrong = first.task.name, ""
    if first.task.choices != second.task.choices:
        wrong = "have other labels or another range"
    elif len(first.ids) != len(second.ids):
        wrong = f"have {len(first.ids)} and {len(second.ids)} dev rows"
    else:
        rows, others = (list(zip(*each.texts, each.labels.tolist(), strict=True)) for each in (first, second))
        differing = next((i for i, (row, other) in enumerate(zip(rows, others, strict=True)) if row != other), None)
        if differing is not None:
            wrong = f"differ in dev row {differing + 1} ({first.ids[differing]})"
    if wrong:
        raise UserError(
            f"Task '{task}': {names[0]} and {names[1]} {wrong}, so their answers cannot be compared row by row.",
            "Name two runs that were measured on the same dev file.",
        )


def contrast(first: DevPredictions, second: DevPredictions, row: int, loss: float, other: float) -> Contrast:
    task = first.task
    one, two = (
        each.answers[row].argmax() if task.kind == "classify" else each.answers[row] for each in (first, second)
    )
    return Contrast(
        row=row,
        id=first.ids[row],
        texts=tuple(column[row] for column in first.texts),
        gold=spelled(task, first.labels[row]),
        first=spelled(task, one),
        second=spelled(task, two),
        first_loss=loss,
        second_loss=other,
    )
