"""Dev rows cut into slices -> where a model is worse than it is as a whole.

A correlation or an F1 depends on which labels a slice happens to have: over a narrow range of gold any model's
correlation is low, so that all four quarters of a task can be below the whole. Slices of scores are therefore
measured by errors, and slices that gold cuts by accuracy. By chance alone, one slice in forty is marked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minbert.analysis.dev_rows import Row, count_words, losses_of
from minbert.analysis.intervals import interval
from minbert.analysis.regression import fifth_of
from minbert.analysis.row_tags import TAGS
from minbert.data.metrics import Array, direction, score
from minbert.runs.predictions import DevPredictions

# fewer rows have an interval that says nothing
FEWEST = 10
By = Literal["words", "overlap", "label", "tag"]


@dataclass(frozen=True)
class Slice:
    by: By
    name: str
    rows: int
    metric: str
    score: float
    # 95 % interval
    low: float
    high: float
    # the mean over rows: -ln p of gold, or the absolute error
    loss: float
    # scores: the mean of answer - gold
    bias: float | None
    # of all rows, by the same metric
    whole: float
    # the whole interval lies on the bad side of that
    worse: bool


def slice_rows(given: DevPredictions, rows: Sequence[Row], tagged: Mapping[str, Array]) -> tuple[Slice, ...]:
    losses_N = losses_of(given)
    return tuple(
        measure(given, losses_N, by, name, metric, at_N)
        for by, name, metric, at_N in cuts(given, rows, tagged)
        if FEWEST <= at_N.sum() < len(rows)
    )


def cuts(
    given: DevPredictions, rows: Sequence[Row], tagged: Mapping[str, Array]
) -> Iterator[tuple[By, str, str, Array]]:
    task = given.task
    by_row = "accuracy" if task.kind == "classify" else "mae"
    # of texts alone
    metric = "mae" if task.metric in ("pearson", "spearman") else task.metric
    for name, at_N in quarters(np.array([count_words(row.words) for row in rows]), "d"):
        yield "words", name, metric, at_N
    if task.paired:
        for name, at_N in quarters(np.array([row.overlap for row in rows]), ".2f"):
            yield "overlap", name, metric, at_N
    if task.kind == "classify":
        for label, name in enumerate(task.display_labels):
            yield "label", name, by_row, given.labels == label
    else:
        fifth_N, edges = fifth_of(task, given.labels)
        for i in range(5):
            yield "label", f"{edges[i]:g}–{edges[i + 1]:g}", by_row, fifth_N == i
    for name, at_N in tagged.items():
        # a tag that knows the answer has only mistakes
        if TAGS[name].sees != "answer":
            yield "tag", name, by_row if TAGS[name].sees == "gold" else metric, at_N


def quarters(value_N: Array, form: str) -> Iterator[tuple[str, Array]]:
    """Four parts of about the same size, fewer where many values are equal; named by what is in them."""
    quarter_N = np.searchsorted(np.quantile(value_N, [0.25, 0.5, 0.75]), value_N, side="left")
    for quarter in range(4):
        at_N = quarter_N == quarter
        if at_N.any():
            low, high = (format(end, form) for end in (value_N[at_N].min(), value_N[at_N].max()))
            yield low if low == high else f"{low}–{high}", at_N


def measure(given: DevPredictions, losses_N: Array, by: By, name: str, metric: str, at_N: Array) -> Slice:
    answers, labels = given.answers[at_N], given.labels[at_N]
    task, whole = given.task, score(given.task, given.answers, given.labels)[metric]
    low, high = interval(metric, answers, labels)
    return Slice(
        by=by,
        name=name,
        rows=len(labels),
        metric=metric,
        score=score(task, answers, labels)[metric],
        low=low,
        high=high,
        loss=float(losses_N[at_N].mean()),
        bias=float((answers - labels).mean()) if task.kind == "score" else None,
        whole=whole,
        worse=high < whole if direction(metric) > 0 else low > whole,
    )
