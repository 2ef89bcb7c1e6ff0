"""The analysis of a run -> tables of plain numbers for programs."""

from collections.abc import Callable, Iterable
from dataclasses import fields

from minbert.analysis.calibration import Bin
from minbert.analysis.classification import LabelScore
from minbert.analysis.regression import Fifth
from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis
from minbert.analysis.slices import Slice
from minbert.report.csv_tables import Rows

EXAMPLE = ("row", "id", "gold", "answer", "right", "probability", "gold_probability", "error", "loss")
CONTRAST = ("row", "id", "gold", "first", "second", "first_loss", "second_loss")
LEAK = ("rows", "texts", "metric", "score", "without", "alone")


def run_tables(analysis: RunAnalysis) -> dict[str, Rows]:
    """One file a kind, a row's task first."""
    names = {kind: tuple(field.name for field in fields(kind)) for kind in (LabelScore, Bin, Fifth, Slice)}
    found = {
        "scores.csv": table(analysis, ("metric", "value", "constant_answer"), scores),
        "confusion.csv": table(analysis, ("label", "answer", "rows"), confusion),
        "labels.csv": table(
            analysis, names[LabelScore], lambda t: listed(t.classes.labels if t.classes else (), names[LabelScore])
        ),
        "calibration.csv": table(
            analysis, names[Bin], lambda t: listed(t.classes.calibration.bins if t.classes else (), names[Bin])
        ),
        "range.csv": table(
            analysis, names[Fifth], lambda t: listed(t.regression.fifths if t.regression else (), names[Fifth])
        ),
        "slices.csv": table(analysis, names[Slice], lambda t: listed(t.slices, names[Slice])),
        "hardest.csv": table(analysis, (*EXAMPLE, "tags", "text", "text2"), hardest),
        "disagreements.csv": table(analysis, (*CONTRAST, "text", "text2"), disagreements),
        "leaks.csv": table(analysis, LEAK, lambda t: listed((t.leaks,), LEAK)),
    }
    return {name if name == "scores.csv" else f"tables/{name}": rows for name, rows in found.items() if len(rows) > 1}


def table(
    analysis: RunAnalysis, head: tuple[str, ...], rows: Callable[[TaskAnalysis], Iterable[tuple[object, ...]]]
) -> Rows:
    return [("task", *head), *((name, *row) for name, found in analysis.tasks.items() for row in rows(found))]


def listed(found: Iterable[object], names: tuple[str, ...]) -> list[tuple[object, ...]]:
    """Nothing is an empty field."""
    return [tuple("" if (x := getattr(each, name)) is None else x for name in names) for each in found]


def scores(found: TaskAnalysis) -> list[tuple[object, ...]]:
    return [(metric, value, found.baseline.scores.get(metric, "")) for metric, value in found.scores.items()]


def confusion(found: TaskAnalysis) -> list[tuple[object, ...]]:
    if not found.classes:
        return []
    labels = [each.label for each in found.classes.labels]
    return [
        (label, labels[j], number)
        for label, row in zip(labels, found.classes.confusion, strict=True)
        for j, number in enumerate(row)
    ]


def hardest(found: TaskAnalysis) -> list[tuple[object, ...]]:
    rows = listed(found.hardest, EXAMPLE)
    return [(*row, "; ".join(each.tags), *two(each.texts)) for row, each in zip(rows, found.hardest, strict=True)]


def disagreements(found: TaskAnalysis) -> list[tuple[object, ...]]:
    if not found.disagreement:
        return []
    contrasts = (*found.disagreement.first_better, *found.disagreement.second_better)
    return [(*row, *two(each.texts)) for row, each in zip(listed(contrasts, CONTRAST), contrasts, strict=True)]


def two(texts: tuple[str, ...]) -> tuple[str, str]:
    return texts[0], texts[1] if len(texts) > 1 else ""
