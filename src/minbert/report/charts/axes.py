"""Grid lines, tick labels and titles of a chart."""

from collections.abc import Callable, Sequence

from minbert.report.number_format import short_count
from minbert.report.scales import Scale, tick_labels
from minbert.report.svg import LETTER_WIDTH, Drawing

TickFormat = Callable[[list[float]], list[str]]


def step_labels(ticks: list[float]) -> list[str]:
    """1,000, 20,000, 1 M."""
    return [
        f"{tick:,.0f}" if tick < 1e5 else short_count(tick).replace(".00", "").replace(".0 ", " ") for tick in ticks
    ]


def draw_x_axis(
    drawing: Drawing, x: Scale, top: float, bottom: float, title: str, write: TickFormat = tick_labels, about: int = 5
) -> None:
    """Vertical grid lines with labels below, and the title below the labels."""
    ticks = x.ticks(about)
    for tick, label in zip(ticks, write(ticks), strict=True):
        drawing.line(x(tick), top, x(tick), bottom, "grid")
        drawing.text(x(tick), bottom + 18, label, "tick middle")
    drawing.text((x.start + x.end) / 2, bottom + 40, title, "name middle")


def draw_y_axis(
    drawing: Drawing, y: Scale, left: float, right: float, write: TickFormat = tick_labels, about: int = 5
) -> None:
    """Horizontal grid lines with labels on the left."""
    ticks = y.ticks(about)
    for tick, label in zip(ticks, write(ticks), strict=True):
        drawing.line(left, y(tick), right, y(tick), "grid")
        drawing.text(left - 8, y(tick) + 4, label, "tick end")


def tick_label_width(labels: Sequence[str]) -> float:
    """The width of the tick labels on the left of a chart."""
    return max((len(label) for label in labels), default=3) * LETTER_WIDTH + 14
