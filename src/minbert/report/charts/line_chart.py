"""Curves with bands over the steps of training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minbert.comparison.results import Curve
from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, beside, counts, gutter
from minbert.report.number_format import fixed
from minbert.report.scales import Scale, names_of, span
from minbert.report.svg import Drawing, tell

# more dots than this make a rope of a line
DOTS = 40


@dataclass(frozen=True)
class Series:
    label: str
    # which of the page's colours
    colour: str
    curve: Curve


def lines(series: Sequence[Series], title: str, places: int, width: float, zero: bool = False) -> Drawing:
    """`title` names what is measured; `zero`: the line at 0 has a meaning."""
    height = 300.0 if width < NARROW else 380.0
    drawing = Drawing(width, height, f"{title} over the steps of training, a curve for each of {len(series)}")
    ends = [end for each in series for end in (*each.curve.low, *each.curve.high, *each.curve.mean)]
    low, high = span([*ends, 0.0] if zero else ends)
    y = Scale(low, high, height - 48, 28)
    left = gutter(names_of(y.ticks()))
    steps = [step for each in series for step in each.curve.steps]
    x = Scale(*span([0.0, *steps], 0), left, width - 10)
    drawing.text(0, 12, title, "name")
    beside(drawing, y, left, width - 10)
    below(drawing, x, y.end, y.start, "steps", counts, 4 if width < NARROW else 7)
    if zero:
        drawing.line(left, y(0), width - 10, y(0), "zero")
    for each in series:
        draw_series(drawing, each, x, y, places)
    return drawing


def draw_series(drawing: Drawing, series: Series, x: Scale, y: Scale, places: int) -> None:
    group = drawing.group(f"series {series.colour}", series=series.label)
    rows = zip(series.curve.steps, series.curve.mean, series.curve.low, series.curve.high, strict=True)
    known = [row for row in rows if all(math.isfinite(number) for number in row)]
    if not known:
        return
    upper = [(x(step), y(high)) for step, _, _, high in known]
    lower = [(x(step), y(low)) for step, _, low, _ in reversed(known)]
    drawing.path(upper + lower, "band", group, closed=True)
    drawing.path([(x(step), y(mean)) for step, mean, _, _ in known], "curve", group)
    for step, mean, low, high in known if len(known) <= DOTS else known[-1:]:
        # a mark is easier to point at than to see
        mark = drawing.group("spot", group)
        drawing.dot(x(step), y(mean), 9, "target", mark)
        drawing.dot(x(step), y(mean), 3, "point", mark)
        spread = f" ({fixed(low, places)} to {fixed(high, places)})" if high > low else ""
        tell(mark, f"{series.label}\nstep {step:,.0f}: {fixed(mean, places)}{spread}")
