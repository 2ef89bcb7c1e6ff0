"""Forest plot: differences with their intervals, one per row, against a line at 0."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from minbert.comparison.results import ScoreDifference
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis
from minbert.report.charts.label_rows import LabelRow, label_rows
from minbert.report.number_format import interval_text, p_value, signed
from minbert.report.scales import Scale, padded_range, tick_labels
from minbert.report.sentences import RESULT_TONES
from minbert.report.svg import Drawing, set_tooltip


@dataclass(frozen=True)
class ForestRow:
    label: str
    difference: ScoreDifference


def forest_plot(rows: Sequence[ForestRow], title: str, decimals: int, width: float) -> Drawing:
    places = label_rows([row.label for row in rows], width)
    drawing = Drawing(width, places.bottom + 46, f"{title}: one difference per row, with its 95 % interval")
    ends = [0.0]
    for row in rows:
        d = row.difference
        # padded_range ignores infinite effects
        ends += [d.corrected_low, d.corrected_high, d.minimum_detectable_effect, -d.minimum_detectable_effect]
    x = Scale(*padded_range(ends), places.left, places.right)
    about = 4 if width < NARROW_BELOW else 6
    draw_x_axis(drawing, x, 6, places.bottom, f"{title} (right is better)", signed_tick_labels, about)
    # below the marks, so that it crosses no value
    drawing.line(x(0), 0, x(0), places.bottom, "zero")
    for row, place in zip(rows, places.rows, strict=True):
        draw_forest_row(drawing, row, x, place, decimals)
    return drawing


def signed_tick_labels(ticks: list[float]) -> list[str]:
    return tick_labels(ticks, sign=True)


def draw_forest_row(drawing: Drawing, row: ForestRow, x: Scale, place: LabelRow, decimals: int) -> None:
    d, middle = row.difference, place.middle
    group = drawing.group(f"row {RESULT_TONES.get(d.result, 'unclear')}")
    draw_undetectable(drawing, d.minimum_detectable_effect, x, middle, 9, group)
    drawing.line(x(d.corrected_low), middle, x(d.corrected_high), middle, "corrected", group)
    drawing.line(x(d.low), middle, x(d.high), middle, "interval", group)
    for end in (d.low, d.high):
        drawing.line(x(end), middle - 4, x(end), middle + 4, "interval", group)
    drawing.dot(x(d.value), middle, 5.5, "point", group)
    value = signed(d.value, decimals)
    place.draw(drawing, value, group)
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
