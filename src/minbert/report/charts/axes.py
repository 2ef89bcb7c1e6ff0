"""Grid lines, numbers and titles of a chart."""

from collections.abc import Callable, Iterable, Sequence

from minbert.report.number_format import amount
from minbert.report.scales import Scale, names_of
from minbert.report.svg import LETTER, Drawing

Namer = Callable[[list[float]], list[str]]


def counts(marks: list[float]) -> list[str]:
    """Steps: 1,000, 20,000, 1 M."""
    return [f"{mark:,.0f}" if mark < 1e5 else amount(mark).replace(".00", "").replace(".0 ", " ") for mark in marks]


def below(
    drawing: Drawing, x: Scale, top: float, bottom: float, title: str, name: Namer = names_of, about: int = 5
) -> None:
    """Vertical grid lines with their numbers below, and the title below those."""
    marks = x.ticks(about)
    for mark, words in zip(marks, name(marks), strict=True):
        drawing.line(x(mark), top, x(mark), bottom, "grid")
        drawing.text(x(mark), bottom + 18, words, "tick middle")
    drawing.text((x.start + x.end) / 2, bottom + 40, title, "name middle")


def beside(drawing: Drawing, y: Scale, left: float, right: float, name: Namer = names_of, about: int = 5) -> None:
    """Horizontal grid lines with their numbers at the left."""
    marks = y.ticks(about)
    for mark, words in zip(marks, name(marks), strict=True):
        drawing.line(left, y(mark), right, y(mark), "grid")
        drawing.text(left - 8, y(mark) + 4, words, "tick end")


def label_room(labels: Iterable[str], most: float = 190) -> float:
    """The room for labels at the left of rows; longer ones are cut."""
    return min(most, max(len(label) for label in labels) * (LETTER + 0.6) + 28)


def gutter(marks: Sequence[str]) -> float:
    """The room that numbers at the left of a chart take."""
    return max((len(words) for words in marks), default=3) * LETTER + 14
