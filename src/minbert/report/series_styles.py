"""Series of a chart -> a color, a marker and a dash pattern each, so that color is never the only cue."""

from collections.abc import Iterable
from dataclasses import dataclass

# classes of pages/colors.css; the colors differ for color-blind readers too
COLORS = 12
# shapes of markers.py, one for each color; a filled circle is the baseline
MARKERS = ("square", "triangle", "diamond", "cross", "star", "ring", "down", "plus", "box", "left", "kite", "hexagon")
# dash patterns of lines
DASHES = 5


@dataclass(frozen=True)
class SeriesStyle:
    """0 is the baseline. From the thirteenth series on, colors return with other markers and dashes."""

    number: int

    @property
    def color(self) -> str:
        return f"s{(self.number - 1) % COLORS + 1}" if self.number else "s0"

    @property
    def marker(self) -> str:
        if not self.number:
            return "circle"
        turn, place = divmod(self.number - 1, COLORS)
        return MARKERS[(place + 5 * turn) % len(MARKERS)]

    @property
    def dash(self) -> str:
        """Neighboring numbers have different dashes."""
        return f"dash{(self.number - 1) % DASHES}" if self.number else "dash0"


def series_styles(names: Iterable[str], baseline: str = "") -> dict[str, SeriesStyle]:
    """The style of each series, in the order of the names; the baseline is a gray circle."""
    others = [name for name in dict.fromkeys(names) if name != baseline]
    numbered = {name: SeriesStyle(i) for i, name in enumerate(others, 1)}
    return {baseline: SeriesStyle(0), **numbered} if baseline else numbered
