"""Score against cost, with the Pareto front."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minbert.report.charts import NARROW_BELOW
from minbert.report.charts.axes import draw_x_axis, draw_y_axis, tick_label_width
from minbert.report.markers import draw_marker
from minbert.report.number_format import fixed, interval_text
from minbert.report.scales import Scale, padded_log_range, padded_range, tick_labels
from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import LETTER_WIDTH, LINE_HEIGHT, Drawing, set_tooltip, wrap_label

# the axis is logarithmic if the largest cost is more than this many times the smallest
LOG_SCALE_RATIO = 20.0
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class CostPoint:
    label: str
    style: SeriesStyle
    cost: float
    score: float
    low: float | None
    high: float | None
    # the cost as text
    cost_text: str


def cost_scatter(
    points: Sequence[CostPoint], cost: str, score: str, decimals: int, width: float, *, rising: bool
) -> Drawing:
    """`rising`: a higher score is better; of errors, a lower one is."""
    height = 320.0 if width < NARROW_BELOW else 400.0
    drawing = Drawing(width, height, f"{score} against {cost}, {len(points)} points")
    ends = [end for p in points for end in (p.score, p.low, p.high)]
    y = Scale(*padded_range(ends, 0.1), height - 48, 28)
    left = tick_label_width(tick_labels(y.ticks()))
    x = cost_scale([p.cost for p in points], left, width - 12)
    drawing.text(0, 12, score, "name")
    draw_y_axis(drawing, y, left, width - 12)
    title = f"{cost} (logarithmic)" if x.log else cost
    draw_x_axis(
        drawing, x, y.end, y.start, title, log_tick_labels if x.log else tick_labels, 4 if width < NARROW_BELOW else 6
    )
    taken: list[Box] = [box_around(x(p.cost), y(p.score)) for p in points]
    if len(best := pareto_front(points, rising)) > 1:
        corners = staircase([(x(p.cost), y(p.score)) for p in best])
        drawing.path(corners, "front")
        # labels must not cover the line
        taken += [(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in pairwise(corners)]
    for p in points:
        draw_cost_point(drawing, p, x, y, decimals, taken)
    return drawing


def log_tick_labels(ticks: list[float]) -> list[str]:
    return [f"{tick:,.12g}" for tick in ticks]


def cost_scale(costs: Sequence[float], start: float, end: float) -> Scale:
    if min(costs) > 0 and max(costs) / min(costs) > LOG_SCALE_RATIO:
        return Scale(*padded_log_range(costs), start, end, log=True)
    low, high = padded_range(costs, 0.12)
    return Scale(low if min(costs) < 0 else max(0.0, low), high, start, end)


def pareto_front(points: Sequence[CostPoint], rising: bool) -> list[CostPoint]:
    """The points that no other point beats at the same or a lower cost, the cheapest first."""
    found: list[CostPoint] = []
    sign = 1 if rising else -1
    for point in sorted(points, key=lambda p: (p.cost, -sign * p.score)):
        if not found or sign * point.score > sign * found[-1].score:
            found.append(point)
    return found


def staircase(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The best score available at each cost: level until the next better point."""
    steps = corners[:1]
    for (_, y1), (x2, y2) in pairwise(corners):
        steps += [(x2, y1), (x2, y2)]
    return steps


def draw_cost_point(drawing: Drawing, p: CostPoint, x: Scale, y: Scale, decimals: int, taken: list[Box]) -> None:
    at = x(p.cost)
    # below the title, and not on the labels of the axis
    room = (x.start, 20.0, drawing.width, y.start)
    group = drawing.group(f"series {p.style.color}", series=p.label)
    if p.low is not None and p.high is not None:
        drawing.line(at, y(p.low), at, y(p.high), "whisker", group)
    draw_marker(drawing, p.style.marker, at, y(p.score), 5.5, "point", group)
    label = wrap_label(p.label, drawing.width * 0.4)
    if (spot := free_label_box(label, at, y(p.score), taken, room)) is not None:
        drawing.lines(spot[0], (spot[1] + spot[3]) / 2 + 4, label, "label small", group)
        taken.append(spot)
    words = f"{p.label}\n{fixed(p.score, decimals)} {interval_text(p.low, p.high, decimals)}".rstrip()
    set_tooltip(group, f"{words}\n{p.cost_text}")


def box_around(x: float, y: float) -> Box:
    return x - 6, y - 6, x + 6, y + 6


def free_label_box(label: Sequence[str], x: float, y: float, taken: list[Box], room: Box) -> Box | None:
    """A place next to the point where the label covers nothing; None if there is none (the legend still names it)."""
    long, tall = max(map(len, label)) * LETTER_WIDTH, LINE_HEIGHT * len(label)
    above, below, beside = y - 10 - tall, y + 9, y - tall / 2
    corners = [(x + 11, beside), (x - 11 - long, beside), (x - long / 2, above), (x - long / 2, below)]
    corners += [(x + 11, above + 4), (x + 11, below - 3), (x - 11 - long, above + 4), (x - 11 - long, below - 3)]
    for left, top in corners:
        box = (left, top, left + long, top + tall)
        inside = left >= room[0] and box[2] <= room[2] and top >= room[1] and box[3] <= room[3]
        if inside and not any(boxes_overlap(box, other) for other in taken):
            return box
    return None


def boxes_overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
