"""Dev rows split into slices -> the slices on which a model is worse than on all rows.

A correlation or an F1 depends on which labels a slice happens to contain. Over a narrow range of gold scores every
model has a low correlation, so all four quartiles of a task can be below the whole. Slices of score tasks are
therefore measured by their errors, and slices defined by gold labels by accuracy. About one slice in forty is marked
by chance alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minbert.analysis.dev_rows import DevRow, count_words, row_losses
from minbert.analysis.intervals import score_interval
from minbert.analysis.regression import fifth_of
from minbert.analysis.row_tags import ROW_TAGS
from minbert.data.metrics import Array, direction, score
from minbert.runs.predictions import DevPredictions

# the interval of fewer rows is too wide to be useful
FEWEST_SLICE_ROWS = 10
SliceKind = Literal["words", "overlap", "label", "tag"]


@dataclass(frozen=True)
class Slice:
    kind: SliceKind
    name: str
    rows: int
    metric: str
    score: float
    # 95 % interval
    low: float
    high: float
    # mean over rows: -ln p of gold, or the absolute error
    loss: float
    # scores: mean of prediction - gold
    bias: float | None
    # the same metric on all rows
    all_rows: float
    # the whole interval is worse than that
    worse: bool


def slice_rows(predictions: DevPredictions, rows: Sequence[DevRow], tagged: Mapping[str, Array]) -> tuple[Slice, ...]:
    losses_N = row_losses(predictions)
    return tuple(
        measure_slice(predictions, losses_N, kind, name, metric, at_N)
        for kind, name, metric, at_N in slice_masks(predictions, rows, tagged)
        if FEWEST_SLICE_ROWS <= at_N.sum() < len(rows)
    )


def slice_masks(
    predictions: DevPredictions, rows: Sequence[DevRow], tagged: Mapping[str, Array]
) -> Iterator[tuple[SliceKind, str, str, Array]]:
    task = predictions.task
    by_row = "accuracy" if task.kind == "classify" else "mae"
    # for slices defined by the texts alone
    metric = "mae" if task.metric in ("pearson", "spearman") else task.metric
    for name, at_N in quartile_masks(np.array([count_words(row.words) for row in rows]), "d"):
        yield "words", name, metric, at_N
    if task.paired:
        for name, at_N in quartile_masks(np.array([row.overlap for row in rows]), ".2f"):
            yield "overlap", name, metric, at_N
    if task.kind == "classify":
        for label, name in enumerate(task.display_labels):
            yield "label", name, by_row, predictions.labels == label
    else:
        fifth_N, edges = fifth_of(task, predictions.labels)
        for i in range(5):
            yield "label", f"{edges[i]:g}–{edges[i + 1]:g}", by_row, fifth_N == i
    for name, at_N in tagged.items():
        # a tag that depends on the prediction selects only errors
        if ROW_TAGS[name].depends_on != "prediction":
            yield "tag", name, by_row if ROW_TAGS[name].depends_on == "gold" else metric, at_N


def quartile_masks(value_N: Array, form: str) -> Iterator[tuple[str, Array]]:
    """Four slices of about the same size, fewer if many values are equal; named by their lowest and highest value."""
    quarter_N = np.searchsorted(np.quantile(value_N, [0.25, 0.5, 0.75]), value_N, side="left")
    for quarter in range(4):
        at_N = quarter_N == quarter
        if at_N.any():
            low, high = (format(end, form) for end in (value_N[at_N].min(), value_N[at_N].max()))
            yield low if low == high else f"{low}–{high}", at_N


def measure_slice(
    predictions: DevPredictions, losses_N: Array, kind: SliceKind, name: str, metric: str, at_N: Array
) -> Slice:
    values, labels = predictions.values[at_N], predictions.labels[at_N]
    task, all_rows = predictions.task, score(predictions.task, predictions.values, predictions.labels)[metric]
    low, high = score_interval(metric, predictions.for_metric(metric)[at_N], labels)
    return Slice(
        kind=kind,
        name=name,
        rows=len(labels),
        metric=metric,
        score=score(task, values, labels)[metric],
        low=low,
        high=high,
        loss=float(losses_N[at_N].mean()),
        bias=float((values - labels).mean()) if task.kind == "score" else None,
        all_rows=all_rows,
        worse=high < all_rows if direction(metric) > 0 else low > all_rows,
    )
