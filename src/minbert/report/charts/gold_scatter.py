"""Predicted against gold scores: one dot per row, on the diagonal where the prediction is correct."""

from collections.abc import Sequence

from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, draw_y_axis, tick_label_width
from minbert.report.number_format import fixed
from minbert.report.scales import Scale, padded_range, tick_labels
from minbert.report.svg import Drawing, set_tooltip


def gold_scatter(points: Sequence[tuple[float, float]], bounds: tuple[float, float], width: float) -> Drawing:
    """`bounds`: the range of the gold scores; predictions may lie outside."""
    width = min(width, 470.0)
    height = 320.0 if width < NARROW_BELOW - 100 else 360.0
    drawing = Drawing(width, height, f"predictions against gold scores, {len(points)} rows")
    y = Scale(*padded_range([*bounds, *(prediction for _, prediction in points)], 0.04), height - 48, 28)
    left = tick_label_width(tick_labels(y.ticks()))
    x = Scale(*padded_range(bounds, 0.04), left, width - 10)
    drawing.text(0, 12, "prediction", "name")
    draw_y_axis(drawing, y, left, width - 10)
    draw_x_axis(drawing, x, y.end, y.start, "gold score")
    drawing.line(x(bounds[0]), y(bounds[0]), x(bounds[1]), y(bounds[1]), "diagonal")
    for gold, prediction in points:
        dot = drawing.dot(x(gold), y(prediction), 3, "cloud")
        set_tooltip(dot, f"gold {fixed(gold, 2)}, prediction {fixed(prediction, 2)}")
    return drawing
