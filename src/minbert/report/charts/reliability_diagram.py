"""Reliability diagram: accuracy against confidence, one point per tenth; calibrated models are on the diagonal."""

from minbert.analysis.calibration import Calibration
from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, draw_y_axis
from minbert.report.number_format import percentage
from minbert.report.scales import Scale
from minbert.report.svg import Drawing, set_tooltip


def reliability_diagram(calibration: Calibration, width: float) -> Drawing:
    """The bars show the fraction of predictions in each bin."""
    width = min(width, 470.0)
    height = 300.0 if width < NARROW_BELOW - 100 else 340.0
    drawing = Drawing(width, height, "reliability diagram: accuracy against confidence")
    x, y = Scale(0, 1, 48, width - 10), Scale(0, 1, height - 48, 28)
    drawing.text(0, 12, "accuracy", "name")
    draw_y_axis(drawing, y, x.start, x.end, percent_tick_labels)
    draw_x_axis(drawing, x, y.end, y.start, "confidence", percent_tick_labels)
    rows = sum(each.rows for each in calibration.bins) or 1
    for each in calibration.bins:
        fraction = each.rows / rows
        bar = drawing.rect(x(each.low) + 1, y(fraction), x(each.high) - x(each.low) - 2, y.start - y(fraction), "bar")
        confidence = f"{percentage(each.low)} to {percentage(each.high)}"
        set_tooltip(bar, f"{each.rows:,} predictions ({percentage(fraction)}) have a confidence of {confidence}")
    drawing.line(x(0), y(0), x(1), y(1), "diagonal")
    for each in calibration.bins:
        if each.confidence is None or each.accuracy is None:
            continue
        group = drawing.group()
        drawing.line(x(each.confidence), y(each.confidence), x(each.confidence), y(each.accuracy), "gap", group)
        drawing.dot(x(each.confidence), y(each.accuracy), 5, "sure", group)
        confidence, accuracy = percentage(each.confidence), percentage(each.accuracy)
        set_tooltip(group, f"mean confidence {confidence}, accuracy {accuracy}\n{each.rows:,} rows")
    return drawing


def percent_tick_labels(ticks: list[float]) -> list[str]:
    return [percentage(tick) for tick in ticks]
