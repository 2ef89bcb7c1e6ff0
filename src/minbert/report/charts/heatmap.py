"""A grid of numbers with a stronger background for larger ones; numbers below 0 have a different color."""

from collections.abc import Sequence
from dataclasses import dataclass

from minbert.report.charts import NARROW_BELOW
from minbert.report.svg import LETTER_WIDTH, LINE_HEIGHT, Drawing, set_tooltip, wrap_label


@dataclass(frozen=True)
class Square:
    # -1 to 1: the strength of the background
    weight: float
    text: str
    tooltip: str = ""
    # emphasized: a significant result, or the diagonal
    strong: bool = False


def heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    squares: Sequence[Sequence[Square | None]],
    down: str,
    across: str,
    width: float,
) -> Drawing:
    """`down` and `across` are the titles of the rows and the columns."""
    narrow = width < NARROW_BELOW
    left = min(max(len(name) for name in [*rows, down]) * LETTER_WIDTH + 16, width * (0.3 if narrow else 0.28))
    side = min((width - left) / len(columns), 200.0)
    # about as high as the block next to it, however many rows there are
    tall = max(30.0, min(250.0 / len(rows), side, 100.0))
    heads = [wrap_label(name, side - 4) for name in columns]
    top = 28 + LINE_HEIGHT * max(map(len, heads))
    drawing = Drawing(
        left + side * len(columns), top + tall * len(rows) + 2, f"heatmap of {down} (rows) by {across} (columns)"
    )
    drawing.text(left + side * len(columns) / 2, 12, across, "name middle")
    drawing.text(0, top - 10, down, "name")
    for j, head in enumerate(heads):
        drawing.lines(left + side * (j + 0.5), top - 10 - (len(head) - 1) * LINE_HEIGHT / 2, head, "tick middle")
    for i, name in enumerate(rows):
        drawing.lines(left - 10, top + tall * (i + 0.5) + 4, wrap_label(name, left - 12), "tick end")
        for j, square in enumerate(squares[i]):
            draw_square(drawing, square, left + side * j, top + tall * i, side, tall)
    return drawing


def draw_square(drawing: Drawing, square: Square | None, x: float, y: float, side: float, tall: float) -> None:
    if square is None:
        drawing.rect(x + 1.5, y + 1.5, side - 3, tall - 3, "void", rx=4)
        return
    tone = "worse" if square.weight < 0 else "better"
    group = drawing.group(f"square {tone}{' strong' if square.strong else ''}")
    background = drawing.rect(x + 1.5, y + 1.5, side - 3, tall - 3, "cell", group, rx=4)
    background.set("style", f"--weight:{min(1.0, abs(square.weight)):.3f}")
    drawing.text(x + side / 2, y + tall / 2 + 4, square.text, "middle", group)
    if square.tooltip:
        set_tooltip(group, square.tooltip)
