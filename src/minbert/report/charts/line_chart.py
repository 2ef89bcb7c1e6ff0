"""Curves with bands over the training steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import Curve
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, draw_y_axis, step_labels, tick_label_width
from minbert.report.markers import draw_marker
from minbert.report.number_format import fixed
from minbert.report.scales import Scale, padded_range, tick_labels
from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import Drawing, set_tooltip

# with more dots than this, only the last one is drawn
MOST_DOTS = 40


@dataclass(frozen=True)
class Series:
    label: str
    style: SeriesStyle
    curve: Curve


def line_chart(series: Sequence[Series], title: str, decimals: int, width: float, zero: bool = False) -> Drawing:
    """`title` names the measure; `zero` draws a line at 0."""
    height = 300.0 if width < NARROW_BELOW else 380.0
    drawing = Drawing(width, height, f"{title} over the training steps, {len(series)} curves")
    ends = [end for each in series for end in (*each.curve.low, *each.curve.high, *each.curve.mean)]
    low, high = padded_range([*ends, 0.0] if zero else ends)
    y = Scale(low, high, height - 48, 28)
    left = tick_label_width(tick_labels(y.ticks()))
    steps = [step for each in series for step in each.curve.steps]
    x = Scale(*padded_range([0.0, *steps], 0), left, width - 10)
    drawing.text(0, 12, title, "name")
    draw_y_axis(drawing, y, left, width - 10)
    draw_x_axis(drawing, x, y.end, y.start, "steps", step_labels, 4 if width < NARROW_BELOW else 7)
    if zero:
        drawing.line(left, y(0), width - 10, y(0), "zero")
    for each in series:
        draw_series(drawing, each, x, y, decimals)
    return drawing


def draw_series(drawing: Drawing, series: Series, x: Scale, y: Scale, decimals: int) -> None:
    group = drawing.group(f"series {series.style.color} {series.style.dash}", series=series.label)
    points = zip(series.curve.steps, series.curve.mean, series.curve.low, series.curve.high, strict=True)
    known = [point for point in points if all(math.isfinite(number) for number in point)]
    if not known:
        return
    upper = [(x(step), y(high)) for step, _, _, high in known]
    lower = [(x(step), y(low)) for step, _, low, _ in reversed(known)]
    drawing.path(upper + lower, "band", group, closed=True)
    drawing.path([(x(step), y(mean)) for step, mean, _, _ in known], "curve", group)
    for step, mean, low, high in known if len(known) <= MOST_DOTS else known[-1:]:
        mark = drawing.group("spot", group)
        # a larger invisible dot is easier to point at
        drawing.dot(x(step), y(mean), 9, "target", mark)
        draw_marker(drawing, series.style.marker, x(step), y(mean), 3.6, "point", mark)
        spread = f" ({fixed(low, decimals)} to {fixed(high, decimals)})" if high > low else ""
        set_tooltip(mark, f"{series.label}\nstep {step:,.0f}: {fixed(mean, decimals)}{spread}")
