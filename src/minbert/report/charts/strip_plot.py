"""Strip plot: the score of every seed as a dot, one row per system, with the mean and its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import Summary
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, label_width
from minbert.report.number_format import fixed, interval_text
from minbert.report.scales import Scale, padded_range
from minbert.report.svg import Drawing, set_tooltip, shorten


@dataclass(frozen=True)
class StripRow:
    label: str
    color: str
    summary: Summary


def strip_plot(rows: Sequence[StripRow], title: str, decimals: int, width: float) -> Drawing:
    narrow = width < NARROW_BELOW
    height, left, right = (48, 8, 8) if narrow else (36, label_width(row.label for row in rows), 84)
    drawing = Drawing(width, len(rows) * height + 56, f"{title}: one dot per seed, one row per system")
    ends = [end for row in rows for end in (*row.summary.values.values(), row.summary.low, row.summary.high)]
    x = Scale(*padded_range(ends), left, width - right)
    draw_x_axis(drawing, x, 6, len(rows) * height + 6, title, about=4 if narrow else 6)
    for i, row in enumerate(rows):
        draw_strip_row(drawing, row, x, 6 + i * height, height, decimals)
    return drawing


def draw_strip_row(drawing: Drawing, row: StripRow, x: Scale, top: float, height: float, decimals: int) -> None:
    narrow = drawing.width < NARROW_BELOW
    summary = row.summary
    group = drawing.group(f"series {row.color}", series=row.label)
    middle = top + (height - 14 if narrow else height / 2)
    drawing.line(x.start, middle, x.end, middle, "rail", group)
    if summary.low is not None and summary.high is not None:
        bar = drawing.rect(x(summary.low), middle - 7, x(summary.high) - x(summary.low), 14, "range", group, rx=3)
        interval = interval_text(summary.low, summary.high, decimals)
        set_tooltip(bar, f"{row.label}\n95 % interval of the mean {interval}")
    for seed, value in summary.values.items():
        dot = drawing.dot(x(value), middle, 4.5, "seed", group)
        set_tooltip(dot, f"{row.label}, seed {seed}\n{fixed(value, decimals)}")
    drawing.line(x(summary.mean), middle - 9, x(summary.mean), middle + 9, "mean", group)
    y = top + 14 if narrow else middle + 4
    drawing.text(0, y, shorten(row.label, (drawing.width - 84) if narrow else x.start - 16), "label", group)
    drawing.text(drawing.width, y, fixed(summary.mean, decimals), "value end", group)
