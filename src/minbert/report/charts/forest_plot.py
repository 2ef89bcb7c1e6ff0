"""Differences with their intervals, one a row, against a line at 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import BETTER, WORSE, ScoreDifference
from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, label_room
from minbert.report.number_format import between, chance, signed
from minbert.report.scales import Scale, names_of, span
from minbert.report.svg import Drawing, shorten, tell

TONES = {BETTER: "better", WORSE: "worse"}


@dataclass(frozen=True)
class Row:
    label: str
    difference: ScoreDifference


def forest(rows: Sequence[Row], title: str, places: int, width: float) -> Drawing:
    """Wide: labels at the left, numbers at the right. Narrow: both above the interval."""
    narrow = width < NARROW
    height, left, right = (52, 8, 8) if narrow else (40, label_room(row.label for row in rows), 84)
    drawing = Drawing(width, len(rows) * height + 56, f"{title}: a difference with its 95 % interval for each row")
    found = [row.difference for row in rows]
    # span leaves out what is not a number
    ends = [
        end for d in found for end in (d.low, d.high, d.minimum_detectable_effect, -d.minimum_detectable_effect, 0.0)
    ]
    x = Scale(*span(ends), left, width - right)
    bottom = len(rows) * height + 6
    below(drawing, x, 6, bottom, title, signs, 4 if narrow else 6)
    for i, row in enumerate(rows):
        draw_row(drawing, row, x, 6 + i * height, height, places)
    drawing.line(x(0), 0, x(0), bottom, "zero")
    return drawing


def signs(marks: list[float]) -> list[str]:
    return names_of(marks, sign=True)


def draw_row(drawing: Drawing, row: Row, x: Scale, top: float, height: float, places: int) -> None:
    narrow = drawing.width < NARROW
    d = row.difference
    tone = TONES.get(d.result, "unclear")
    group = drawing.group(f"row {tone}")
    middle = top + (height - 16 if narrow else height / 2)
    half = 9 if narrow else 11
    if math.isfinite(d.minimum_detectable_effect):
        drawing.rect(
            x(-d.minimum_detectable_effect),
            middle - half,
            x(d.minimum_detectable_effect) - x(-d.minimum_detectable_effect),
            2 * half,
            "detect",
            group,
            rx=3,
        )
    drawing.line(x(d.low), middle, x(d.high), middle, "interval", group)
    for end in (d.low, d.high):
        drawing.line(x(end), middle - 4, x(end), middle + 4, "interval", group)
    drawing.dot(x(d.value), middle, 5.5, "point", group)
    value = signed(d.value, places)
    if narrow:
        drawing.text(0, top + 16, shorten(row.label, drawing.width - 80), "label", group)
        drawing.text(drawing.width, top + 16, value, "value end", group)
    else:
        drawing.text(0, middle + 4, shorten(row.label, x.start - 16), "label", group)
        drawing.text(drawing.width, middle + 4, value, "value end", group)
    interval = between(d.low, d.high, places, sign=True)
    words = f"{row.label}: {value} {interval}\n{d.result}, corrected p {chance(d.corrected)}"
    tell(group, f"{words}\nsmallest difference this could have seen: {signed(d.minimum_detectable_effect, places)[1:]}")
