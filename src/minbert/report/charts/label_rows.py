"""Rows with a label each: where label and marks go. Labels are never cut; a long one takes several lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from minbert.report.charts import NARROW_BELOW
from minbert.report.svg import LINE_HEIGHT, Drawing, wrap_label

# the approximate width of a letter of a label, which is larger than other text of a chart
LABEL_LETTER = 6.9
# for the number on the right
VALUE_WIDTH = 72.0
# labels take at most this fraction of a wide chart
MOST_LABEL = 0.36
WIDE_ROW = 34.0


@dataclass(frozen=True)
class LabelRow:
    label: tuple[str, ...]
    top: float
    height: float
    # of the marks
    middle: float
    # of the label
    baseline: float

    def draw(self, drawing: Drawing, value: str, group: Element) -> None:
        drawing.lines(0, self.baseline, self.label, "label", group)
        drawing.text(drawing.width, self.baseline, value, "value end", group)


@dataclass(frozen=True)
class LabelRows:
    rows: tuple[LabelRow, ...]
    # where the marks may be
    left: float
    right: float

    @property
    def bottom(self) -> float:
        return self.rows[-1].top + self.rows[-1].height


def label_rows(labels: Sequence[str], width: float) -> LabelRows:
    """Wide: labels on the left, numbers on the right of the marks. Narrow: both above them."""
    narrow = width < NARROW_BELOW
    longest = max(map(len, labels)) * LABEL_LETTER + 28
    left = 8.0 if narrow else min(longest, width * MOST_LABEL)
    found, top = [], 6.0
    for label in labels:
        lines = wrap_label(label, width - VALUE_WIDTH if narrow else left - 16, LABEL_LETTER)
        text = LINE_HEIGHT * len(lines)
        height = text + 22 if narrow else max(WIDE_ROW, text + 6)
        middle = top + text + 10 if narrow else top + height / 2
        baseline = top + text / 2 + 5 if narrow else middle + 4
        found.append(LabelRow(tuple(lines), top, height, middle, baseline))
        top += height
    return LabelRows(tuple(found), left, width - (8 if narrow else VALUE_WIDTH))
