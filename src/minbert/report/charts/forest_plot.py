"""Forest plot: differences with their intervals, one per row, against a line at 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from minbert.comparison.results import ScoreDifference
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, label_width
from minbert.report.number_format import interval_text, p_value, signed
from minbert.report.scales import Scale, padded_range, tick_labels
from minbert.report.sentences import RESULT_TONES
from minbert.report.svg import Drawing, set_tooltip, shorten


@dataclass(frozen=True)
class ForestRow:
    label: str
    difference: ScoreDifference


def forest_plot(rows: Sequence[ForestRow], title: str, decimals: int, width: float) -> Drawing:
    """Wide: labels on the left, numbers on the right. Narrow: both above the interval."""
    narrow = width < NARROW_BELOW
    height, left, right = (52, 8, 8) if narrow else (40, label_width(row.label for row in rows), 84)
    drawing = Drawing(width, len(rows) * height + 56, f"{title}: one difference per row, with its 95 % interval")
    ends = [0.0]
    for row in rows:
        d = row.difference
        # padded_range ignores infinite effects
        ends += [d.corrected_low, d.corrected_high, d.minimum_detectable_effect, -d.minimum_detectable_effect]
    x = Scale(*padded_range(ends), left, width - right)
    bottom = len(rows) * height + 6
    draw_x_axis(drawing, x, 6, bottom, title, signed_tick_labels, 4 if narrow else 6)
    for i, row in enumerate(rows):
        draw_forest_row(drawing, row, x, 6 + i * height, height, decimals)
    drawing.line(x(0), 0, x(0), bottom, "zero")
    return drawing


def signed_tick_labels(ticks: list[float]) -> list[str]:
    return tick_labels(ticks, sign=True)


def draw_forest_row(drawing: Drawing, row: ForestRow, x: Scale, top: float, height: float, decimals: int) -> None:
    narrow = drawing.width < NARROW_BELOW
    d = row.difference
    group = drawing.group(f"row {RESULT_TONES.get(d.result, 'unclear')}")
    middle = top + (height - 16 if narrow else height / 2)
    draw_undetectable(drawing, d.minimum_detectable_effect, x, middle, 9 if narrow else 11, group)
    drawing.line(x(d.corrected_low), middle, x(d.corrected_high), middle, "corrected", group)
    drawing.line(x(d.low), middle, x(d.high), middle, "interval", group)
    for end in (d.low, d.high):
        drawing.line(x(end), middle - 4, x(end), middle + 4, "interval", group)
    drawing.dot(x(d.value), middle, 5.5, "point", group)
    value = signed(d.value, decimals)
    y, room = (top + 16, drawing.width - 80) if narrow else (middle + 4, x.start - 16)
    drawing.text(0, y, shorten(row.label, room), "label", group)
    drawing.text(drawing.width, y, value, "value end", group)
    lines = (
        f"{row.label}: {value} {interval_text(d.low, d.high, decimals, sign=True)}",
        f"{d.result}, corrected p {p_value(d.corrected)}",
        f"corrected interval: {interval_text(d.corrected_low, d.corrected_high, decimals, sign=True)}",
        f"minimum detectable effect: {signed(d.minimum_detectable_effect, decimals)[1:]}",
    )
    set_tooltip(group, "\n".join(lines))


def draw_undetectable(drawing: Drawing, effect: float, x: Scale, middle: float, half: float, group: Element) -> None:
    """The band of differences below the minimum detectable effect."""
    if math.isfinite(effect):
        drawing.rect(x(-effect), middle - half, x(effect) - x(-effect), 2 * half, "detect", group, rx=3)
