"""Strip plot: the score of every seed as a dot, one row per system, with the mean and its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import Summary
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis
from minbert.report.charts.label_rows import LabelRow, label_rows
from minbert.report.markers import draw_marker
from minbert.report.number_format import fixed, interval_text
from minbert.report.scales import Scale, padded_range
from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import Drawing, set_tooltip


@dataclass(frozen=True)
class StripRow:
    label: str
    style: SeriesStyle
    summary: Summary


def strip_plot(rows: Sequence[StripRow], title: str, decimals: int, width: float) -> Drawing:
    places = label_rows([row.label for row in rows], width)
    drawing = Drawing(width, places.bottom + 46, f"{title}: one mark per seed, one row per system")
    ends = [end for row in rows for end in (*row.summary.values.values(), row.summary.low, row.summary.high)]
    x = Scale(*padded_range(ends), places.left, places.right)
    draw_x_axis(drawing, x, 6, places.bottom, title, about=4 if width < NARROW_BELOW else 6)
    for row, place in zip(rows, places.rows, strict=True):
        draw_strip_row(drawing, row, x, place, decimals)
    return drawing


def draw_strip_row(drawing: Drawing, row: StripRow, x: Scale, place: LabelRow, decimals: int) -> None:
    summary, middle = row.summary, place.middle
    group = drawing.group(f"series {row.style.color}", series=row.label)
    drawing.line(x.start, middle, x.end, middle, "rail", group)
    if summary.low is not None and summary.high is not None:
        bar = drawing.rect(x(summary.low), middle - 7, x(summary.high) - x(summary.low), 14, "range", group, rx=3)
        interval = interval_text(summary.low, summary.high, decimals)
        set_tooltip(bar, f"{row.label}\n95 % interval of the mean {interval}")
    for seed, value in summary.values.items():
        mark = draw_marker(drawing, row.style.marker, x(value), middle, 4.5, "seed", group)
        set_tooltip(mark, f"{row.label}, seed {seed}\n{fixed(value, decimals)}")
    drawing.line(x(summary.mean), middle - 9, x(summary.mean), middle + 9, "mean", group)
    place.draw(drawing, fixed(summary.mean, decimals), group)
