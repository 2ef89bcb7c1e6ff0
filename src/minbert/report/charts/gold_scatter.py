"""Answers against gold scores: a dot a row, on the diagonal where the answer is right."""

from collections.abc import Sequence

from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, beside, gutter
from minbert.report.number_format import fixed
from minbert.report.scales import Scale, names_of, span
from minbert.report.svg import Drawing, tell


def cloud(points: Sequence[tuple[float, float]], bounds: tuple[float, float], width: float) -> Drawing:
    """`bounds`: the range of the gold scores; answers may lie outside of it."""
    width = min(width, 470.0)
    height = 320.0 if width < NARROW - 100 else 360.0
    drawing = Drawing(width, height, f"answers against gold scores, {len(points)} rows")
    y = Scale(*span([*bounds, *(answer for _, answer in points)], 0.04), height - 48, 28)
    left = gutter(names_of(y.ticks()))
    x = Scale(*span(bounds, 0.04), left, width - 10)
    drawing.text(0, 12, "answer", "name")
    beside(drawing, y, left, width - 10)
    below(drawing, x, y.end, y.start, "gold score")
    drawing.line(x(bounds[0]), y(bounds[0]), x(bounds[1]), y(bounds[1]), "diagonal")
    for gold, answer in points:
        tell(drawing.dot(x(gold), y(answer), 3, "cloud"), f"gold {fixed(gold, 2)}, answer {fixed(answer, 2)}")
    return drawing
