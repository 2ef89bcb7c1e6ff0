"""The error analysis of a run -> CSV tables for programs."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from minbert.analysis.calibration import ReliabilityBin
from minbert.analysis.classification import LabelScore
from minbert.analysis.regression import Fifth
from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis
from minbert.analysis.slices import Slice
from minbert.report.csv_tables import CsvRows, field_values

HARD_ROW_COLUMNS = ("row", "id", "gold", "prediction", "correct", "probability", "gold_probability", "error", "loss")
DISAGREEMENT_COLUMNS = ("row", "id", "gold", "first", "second", "first_loss", "second_loss")
LEAK_COLUMNS = ("rows", "texts", "metric", "score", "score_without_leaks", "score_on_leaks")
TaskRows = Iterable[tuple[object, ...]]


def run_tables(analysis: RunAnalysis) -> dict[str, CsvRows]:
    """One file per kind of table; the first column is the task."""

    def records(kind: Any, found: Callable[[TaskAnalysis], Iterable[object]]) -> CsvRows:
        columns = tuple(field.name for field in fields(kind))
        return rows_by_task(analysis, columns, lambda t: (field_values(each, columns) for each in found(t)))

    tables = {
        "scores.csv": rows_by_task(analysis, ("metric", "value", "constant_baseline"), score_rows),
        "confusion.csv": rows_by_task(analysis, ("gold", "prediction", "rows"), confusion_rows),
        "labels.csv": records(LabelScore, lambda t: t.classification.labels if t.classification else ()),
        "calibration.csv": records(
            ReliabilityBin, lambda t: t.classification.calibration.bins if t.classification else ()
        ),
        "range.csv": records(Fifth, lambda t: t.regression.fifths if t.regression else ()),
        "slices.csv": records(Slice, lambda t: t.slices),
        "hardest.csv": rows_by_task(analysis, (*HARD_ROW_COLUMNS, "tags", "text", "text2"), hardest_csv_rows),
        "disagreements.csv": rows_by_task(analysis, (*DISAGREEMENT_COLUMNS, "text", "text2"), disagreement_csv_rows),
        "leaks.csv": rows_by_task(analysis, LEAK_COLUMNS, lambda t: [field_values(t.leaks, LEAK_COLUMNS)]),
    }
    return {name if name == "scores.csv" else f"tables/{name}": rows for name, rows in tables.items() if len(rows) > 1}


def rows_by_task(analysis: RunAnalysis, head: tuple[str, ...], rows: Callable[[TaskAnalysis], TaskRows]) -> CsvRows:
    return [("task", *head), *((name, *row) for name, found in analysis.tasks.items() for row in rows(found))]


def score_rows(found: TaskAnalysis) -> TaskRows:
    return [(metric, value, found.baseline.scores.get(metric, "")) for metric, value in found.scores.items()]


def confusion_rows(found: TaskAnalysis) -> TaskRows:
    if not found.classification:
        return []
    labels = [each.label for each in found.classification.labels]
    return [
        (gold, prediction, rows)
        for gold, line in zip(labels, found.classification.confusion, strict=True)
        for prediction, rows in zip(labels, line, strict=True)
    ]


def hardest_csv_rows(found: TaskAnalysis) -> TaskRows:
    for each in found.hardest_rows:
        yield *field_values(each, HARD_ROW_COLUMNS), "; ".join(each.tags), *two_texts(each.texts)


def disagreement_csv_rows(found: TaskAnalysis) -> TaskRows:
    if found.disagreement:
        for each in (*found.disagreement.first_better, *found.disagreement.second_better):
            yield *field_values(each, DISAGREEMENT_COLUMNS), *two_texts(each.texts)


def two_texts(texts: tuple[str, ...]) -> tuple[str, str]:
    return texts[0], texts[1] if len(texts) > 1 else ""
