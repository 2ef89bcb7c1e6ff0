"""Score against cost, with the line of those that nobody beats at both."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minbert.report.charts import NARROW
from minbert.report.charts.axes import below, beside, gutter
from minbert.report.number_format import between, fixed
from minbert.report.scales import Scale, log_span, names_of, span
from minbert.report.svg import LETTER, Drawing, shorten, tell

# costs that differ by more than this are shown on a logarithmic scale
WIDE = 20.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    label: str
    colour: str
    cost: float
    score: float
    low: float | None
    high: float | None
    # the cost as people read it
    said: str


def scatter(points: Sequence[Point], cost: str, score: str, places: int, width: float, *, rising: bool) -> Drawing:
    """`rising`: more of the score is better; of errors, less is."""
    height = 320.0 if width < NARROW else 400.0
    drawing = Drawing(width, height, f"{score} against {cost}, a point for each of {len(points)}")
    ends = [end for p in points for end in (p.score, p.low, p.high)]
    y = Scale(*span(ends, 0.1), height - 48, 28)
    left = gutter(names_of(y.ticks()))
    x = cost_scale([p.cost for p in points], left, width - 12)
    drawing.text(0, 12, score, "name")
    beside(drawing, y, left, width - 12)
    title = f"{cost} (logarithmic)" if x.log else cost
    below(drawing, x, y.end, y.start, title, plain_names if x.log else names_of, 4 if width < NARROW else 6)
    taken: list[Box] = [around(x(p.cost), y(p.score)) for p in points]
    if len(best := front(points, rising)) > 1:
        corners = staircase([(x(p.cost), y(p.score)) for p in best])
        drawing.path(corners, "front")
        # labels keep off the line
        taken += [(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in pairwise(corners)]
    for p in points:
        draw_point(drawing, p, x(p.cost), y, places, taken)
    return drawing


def plain_names(marks: list[float]) -> list[str]:
    return [f"{mark:,.12g}" for mark in marks]


def cost_scale(costs: Sequence[float], start: float, end: float) -> Scale:
    if min(costs) > 0 and max(costs) / min(costs) > WIDE:
        return Scale(*log_span(costs), start, end, log=True)
    low, high = span(costs, 0.12)
    return Scale(low if min(costs) < 0 else max(0.0, low), high, start, end)


def front(points: Sequence[Point], rising: bool) -> list[Point]:
    """Those that no other beats in score at the same cost or less, the cheapest first."""
    found: list[Point] = []
    sign = 1 if rising else -1
    for point in sorted(points, key=lambda p: (p.cost, -sign * p.score)):
        if not found or sign * point.score > sign * found[-1].score:
            found.append(point)
    return found


def staircase(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """What can be had at a cost: level until the next better one."""
    steps = corners[:1]
    for (_, y1), (x2, y2) in pairwise(corners):
        steps += [(x2, y1), (x2, y2)]
    return steps


def draw_point(drawing: Drawing, p: Point, x: float, y: Scale, places: int, taken: list[Box]) -> None:
    group = drawing.group(f"series {p.colour}", series=p.label)
    if p.low is not None and p.high is not None:
        drawing.line(x, y(p.low), x, y(p.high), "whisker", group)
    drawing.dot(x, y(p.score), 6, "point", group)
    label = shorten(p.label, drawing.width * 0.4)
    if (spot := free_spot(label, x, y(p.score), taken, drawing.width, y.start)) is not None:
        drawing.text(spot[0], spot[3] - 4, label, "label small", group)
        taken.append(spot)
    words = f"{p.label}\n{fixed(p.score, places)} {between(p.low, p.high, places)}".rstrip()
    tell(group, f"{words}\n{p.said}")


def around(x: float, y: float) -> Box:
    return x - 6, y - 6, x + 6, y + 6


def free_spot(label: str, x: float, y: float, taken: list[Box], width: float, bottom: float) -> Box | None:
    """Where a label hides nothing: right, left, above or below its point; None: nowhere (pointing at it tells)."""
    long = len(label) * LETTER
    corners = [(x + 11, y - 8), (x - 11 - long, y - 8), (x - long / 2, y - 26), (x - long / 2, y + 9)]
    corners += [(x + 11, y - 22), (x + 11, y + 6), (x - 11 - long, y - 22), (x - 11 - long, y + 6)]
    for left, top in corners:
        box = (left, top, left + long, top + 16)
        inside = left >= 0 and box[2] <= width and top >= 20 and box[3] <= bottom
        if inside and not any(meet(box, other) for other in taken):
            return box
    return None


def meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
