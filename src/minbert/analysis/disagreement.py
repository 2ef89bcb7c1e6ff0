"""The predictions of two runs on the same dev rows -> the rows where one is correct and the other is not."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from minbert.analysis.dev_rows import label_text, row_losses
from minbert.data.metrics import Array
from minbert.errors import UserError
from minbert.runs.predictions import DevPredictions

# kept in each direction
MOST_DISAGREEMENTS = 100


@dataclass(frozen=True)
class DisagreementRow:
    """A row on which two runs differ."""

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
    """Classes: which of the two runs is correct. Scores: which is closer to gold."""

    # rows on which only the first run is correct, and only the second
    first: int
    second: int
    # rows on which both are correct, or neither is; for scores: equally close, and always 0
    both: int
    neither: int
    # McNemar's exact test (the sign test for scores): how often chance alone would split these rows as unevenly
    p: float
    # the largest differences in loss first
    first_better: tuple[DisagreementRow, ...]
    second_better: tuple[DisagreementRow, ...]


def find_disagreement(first: DevPredictions, second: DevPredictions, names: tuple[str, str]) -> Disagreement:
    check_both_runs_match(first, second, names)
    losses_N, other_losses_N = row_losses(first), row_losses(second)
    if first.task.kind == "classify":
        correct_N, other_correct_N = (each.predicted == each.labels for each in (first, second))
        first_N, second_N = correct_N & ~other_correct_N, other_correct_N & ~correct_N
        both = int((correct_N & other_correct_N).sum())
    else:
        first_N, second_N = losses_N < other_losses_N, other_losses_N < losses_N
        both = int((losses_N == other_losses_N).sum())
    only_first, only_second = int(first_N.sum()), int(second_N.sum())

    def largest(at_N: Array) -> tuple[DisagreementRow, ...]:
        rows = np.flatnonzero(at_N)
        gap = np.abs(losses_N - other_losses_N)[rows]
        chosen = rows[np.argsort(-gap, kind="stable")[:MOST_DISAGREEMENTS]].tolist()
        losses = [(float(losses_N[row]), float(other_losses_N[row])) for row in chosen]
        return tuple(disagreement_row(first, second, row, *two) for row, two in zip(chosen, losses, strict=True))

    return Disagreement(
        first=only_first,
        second=only_second,
        both=both,
        neither=len(losses_N) - only_first - only_second - both,
        p=float(binomtest(only_first, only_first + only_second).pvalue) if only_first + only_second else 1.0,
        first_better=largest(first_N),
        second_better=largest(second_N),
    )


def check_both_runs_match(first: DevPredictions, second: DevPredictions, names: tuple[str, str]) -> None:
    task, wrong = first.task.name, ""
    if first.task.choices != second.task.choices:
        wrong = "have different labels or score ranges"
    elif len(first.ids) != len(second.ids):
        wrong = f"have {len(first.ids)} and {len(second.ids)} dev rows"
    else:
        rows, others = (list(zip(*each.texts, each.labels.tolist(), strict=True)) for each in (first, second))
        differing = next((i for i, (row, other) in enumerate(zip(rows, others, strict=True)) if row != other), None)
        if differing is not None:
            wrong = f"differ in dev row {differing + 1} ({first.ids[differing]})"
    if wrong:
        raise UserError(
            f"Task '{task}': {names[0]} and {names[1]} {wrong}, so their predictions cannot be compared row by row.",
            "Choose two runs that were evaluated on the same dev file.",
        )


def disagreement_row(
    first: DevPredictions, second: DevPredictions, row: int, loss: float, other_loss: float
) -> DisagreementRow:
    task = first.task
    one, other = (each.predicted[row] for each in (first, second))
    return DisagreementRow(
        row=row,
        id=first.ids[row],
        texts=tuple(column[row] for column in first.texts),
        gold=label_text(task, first.labels[row]),
        first=label_text(task, one),
        second=label_text(task, other),
        first_loss=loss,
        second_loss=other_loss,
    )
