"""How sure a model is against how often it is right: a point for each tenth, on a diagonal if it is honest."""

from minbert.analysis.calibration import Calibration
from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, beside
from minbert.report.number_format import percent
from minbert.report.scales import Scale
from minbert.report.svg import Drawing, tell


def reliability(found: Calibration, width: float) -> Drawing:
    """Bars in the ground: how many answers are that sure."""
    width = min(width, 470.0)
    height = 300.0 if width < NARROW - 100 else 340.0
    drawing = Drawing(width, height, "share of right answers against the probability of the answer")
    x, y = Scale(0, 1, 48, width - 10), Scale(0, 1, height - 48, 28)
    drawing.text(0, 12, "share of right answers", "name")
    beside(drawing, y, x.start, x.end, shares)
    below(drawing, x, y.end, y.start, "probability of the answer", shares)
    rows = sum(each.rows for each in found.bins) or 1
    for each in found.bins:
        share = each.rows / rows
        bar = drawing.rect(x(each.low) + 1, y(share), x(each.high) - x(each.low) - 2, y.start - y(share), "bar")
        tell(bar, f"{each.rows:,} answers ({percent(share)}) are {percent(each.low)} to {percent(each.high)} sure")
    drawing.line(x(0), y(0), x(1), y(1), "diagonal")
    for each in found.bins:
        if each.confidence is None or each.accuracy is None:
            continue
        group = drawing.group()
        drawing.line(x(each.confidence), y(each.confidence), x(each.confidence), y(each.accuracy), "gap", group)
        drawing.dot(x(each.confidence), y(each.accuracy), 5, "sure", group)
        tell(group, f"{percent(each.confidence)} sure, {percent(each.accuracy)} right\n{each.rows:,} rows")
    return drawing


def shares(marks: list[float]) -> list[str]:
    return [percent(mark) for mark in marks]
