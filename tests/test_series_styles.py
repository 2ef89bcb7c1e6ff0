"""Series stay distinct for every reader: colors under simulated color blindness, markers and dashes without color."""

import re
from itertools import combinations

import pytest

from minbert.report.markers import OUTLINES, swatch
from minbert.report.series_styles import COLORS, MARKERS, SeriesStyle, series_styles
from minbert.report.svg import PAGES
from tests.color_vision import SIMULATIONS, ciede2000, contrast, seen_as

# two patches side by side differ clearly from about 5 on; marks of a few pixels need more
CLEAR, CLEAR_FROM_BACKGROUND = 12.0, 20.0
LIGHT, DARK = (PAGES / "colors.css").read_text(encoding="utf-8").split("@media")


def colors_of(css: str) -> tuple[list[str], list[str]]:
    """The colors of the series, and of the backgrounds."""
    found = dict(re.findall(r"--(\w+): (#\w{6});", css))
    return [found[f"s{i}"] for i in range(COLORS + 1)], [found["paper"], found["ground"]]


# pairs 1, 7 and 9 of Sharma, Wu and Dalal (2005), table 1
@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
    ],
)
def test_distances_agree_with_published_ones(
    one: tuple[float, float, float], other: tuple[float, float, float], distance: float
) -> None:
    assert ciede2000(one, other) == pytest.approx(distance, abs=5e-5)


@pytest.mark.parametrize("vision", SIMULATIONS)
@pytest.mark.parametrize("css", [LIGHT, DARK], ids=["light", "dark"])
def test_colors_differ_for_every_vision(css: str, vision: str) -> None:
    series, backgrounds = colors_of(css)
    seen = [seen_as(color, vision) for color in series]
    assert min(ciede2000(a, b) for a, b in combinations(seen, 2)) >= CLEAR
    behind = [seen_as(color, vision) for color in backgrounds]
    assert min(ciede2000(a, b) for a in seen for b in behind) >= CLEAR_FROM_BACKGROUND
    assert min(contrast(a, b) for a in series for b in backgrounds) >= 3


def test_color_is_never_the_only_cue() -> None:
    styles = list(series_styles([f"recipe {i}" for i in range(41)], "recipe 0").values())
    first = styles[: COLORS + 1]
    assert len({each.marker for each in first}) == len({each.color for each in first}) == len(first) == 13
    # later ones repeat a color with another marker and another dash
    for a, b in combinations(styles, 2):
        assert (a.color, a.marker) != (b.color, b.marker)
        assert a.color != b.color or a.dash != b.dash
    assert {"circle", *MARKERS} == set(OUTLINES)


def test_every_marker_is_drawn_differently() -> None:
    shapes = [re.sub(r" class=\"swatch \w+\"", "", swatch(SeriesStyle(i)).markup()) for i in range(COLORS + 1)]
    assert len(set(shapes)) == len(shapes)
