"""Every seed's score as a dot, a row for each recipe, with the mean and its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import Summary
from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, label_room
from minbert.report.number_format import between, fixed
from minbert.report.scales import Scale, span
from minbert.report.svg import Drawing, shorten, tell


@dataclass(frozen=True)
class Row:
    label: str
    colour: str
    summary: Summary


def strip(rows: Sequence[Row], title: str, places: int, width: float) -> Drawing:
    narrow = width < NARROW
    height, left, right = (48, 8, 8) if narrow else (36, label_room(row.label for row in rows), 84)
    drawing = Drawing(width, len(rows) * height + 56, f"{title}: a dot for each seed, a row for each recipe")
    ends = [end for row in rows for end in (*row.summary.values.values(), row.summary.low, row.summary.high)]
    x = Scale(*span(ends), left, width - right)
    below(drawing, x, 6, len(rows) * height + 6, title, about=4 if narrow else 6)
    for i, row in enumerate(rows):
        draw_row(drawing, row, x, 6 + i * height, height, places)
    return drawing


def draw_row(drawing: Drawing, row: Row, x: Scale, top: float, height: float, places: int) -> None:
    narrow = drawing.width < NARROW
    summary = row.summary
    group = drawing.group(f"series {row.colour}", series=row.label)
    middle = top + (height - 14 if narrow else height / 2)
    drawing.line(x.start, middle, x.end, middle, "rail", group)
    if summary.low is not None and summary.high is not None:
        bar = drawing.rect(x(summary.low), middle - 7, x(summary.high) - x(summary.low), 14, "range", group, rx=3)
        tell(bar, f"{row.label}\n95 % interval of the mean {between(summary.low, summary.high, places)}")
    for seed, value in summary.values.items():
        tell(drawing.dot(x(value), middle, 4.5, "seed", group), f"{row.label}, seed {seed}\n{fixed(value, places)}")
    drawing.line(x(summary.mean), middle - 9, x(summary.mean), middle + 9, "mean", group)
    y = top + 14 if narrow else middle + 4
    drawing.text(0, y, shorten(row.label, (drawing.width - 84) if narrow else x.start - 16), "label", group)
    drawing.text(drawing.width, y, fixed(summary.mean, places), "value end", group)
