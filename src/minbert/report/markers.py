"""Markers: shapes that tell the series of a chart apart without their color."""

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import LETTER_WIDTH, Drawing

Outline = tuple[tuple[float, float], ...]


def regular(corners: int, first: float, size: float, inner: float = 1.0) -> Outline:
    """The corners on a circle, the first at an angle in degrees; every other one at `inner` of the radius."""
    angles = [math.radians(first + 360 * i / corners) for i in range(corners)]
    radii = [size * (inner if i % 2 else 1.0) for i in range(corners)]
    return tuple((r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, angles, strict=True))


def bars(turn: float, arm: float = 1.2, half: float = 0.36) -> Outline:
    """Two crossing bars, turned by an angle in degrees."""
    quarter = ((half, -half), (arm, -half), (arm, half))
    turned = [(math.radians(turn + 90 * i), corner) for i in range(4) for corner in quarter]
    return tuple((x * math.cos(a) - y * math.sin(a), x * math.sin(a) + y * math.cos(a)) for a, (x, y) in turned)


# on a circle of radius 1; circles have no corners
OUTLINES: dict[str, Outline] = {
    "circle": (),
    "square": regular(4, 45, 1.25),
    "triangle": regular(3, -90, 1.35),
    "diamond": regular(4, 0, 1.3),
    "cross": bars(45),
    "star": regular(10, -90, 1.45, 0.5),
    "ring": (),
    "down": regular(3, 90, 1.35),
    "plus": bars(0),
    "box": regular(4, 45, 1.2),
    "left": regular(3, 180, 1.35),
    "kite": regular(4, 0, 1.3),
    "hexagon": regular(6, 0, 1.15),
}
HOLLOW = ("ring", "box", "kite")


def draw_marker(
    drawing: Drawing, shape: str, x: float, y: float, radius: float, style: str, inside: Element | None = None
) -> Element:
    style = f"{style} hollow" if shape in HOLLOW else style
    corners = OUTLINES[shape]
    if not corners:
        return drawing.dot(x, y, radius, style, inside)
    return drawing.path(scaled(corners, x, y, radius), style, inside, closed=True)


def scaled(corners: Sequence[tuple[float, float]], x: float, y: float, radius: float) -> list[tuple[float, float]]:
    return [(x + radius * dx, y + radius * dy) for dx, dy in corners]


def swatch(style: SeriesStyle) -> Drawing:
    """The marker of a series alone, for legends and tables."""
    drawing = Drawing(14, 14, "")
    drawing.root.attrib.pop("role")
    drawing.root.attrib.pop("aria-label")
    drawing.root.set("aria-hidden", "true")
    drawing.root.set("class", f"swatch {style.color}")
    draw_marker(drawing, style.marker, 7, 7, 4.6, "point")
    return drawing


def with_legend(drawing: Drawing, entries: Sequence[tuple[str, SeriesStyle]]) -> Drawing:
    """Add the names of the series below the chart, for a file without a page around it."""
    if not entries:
        return drawing
    x, y = 0.0, drawing.height + 20
    for label, style in entries:
        room = len(label) * LETTER_WIDTH + 52
        if x and x + room > drawing.width:
            x, y = 0.0, y + 22
        group = drawing.group(f"series {style.color} {style.dash}")
        drawing.line(x, y - 4, x + 28, y - 4, "curve", group)
        draw_marker(drawing, style.marker, x + 14, y - 4, 3.6, "point", group)
        drawing.text(x + 34, y, label, "label small", group)
        x += room
    drawing.height = y + 6
    return drawing
