"""curves.png of a run: ticks that can be read, whatever the numbers are."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from minbert.runs.curves import draw_curves, set_ticks

CURVES = {
    "constant": ([10, 20, 30], [1.0, 1.0001, 1.0002]),
    "one point": ([1], [0.5]),
    "nothing learned": ([1, 2], [0.0, 0.0]),
    "few steps": ([1, 2, 3], [0.9, 0.5, 0.4]),
    "many steps": (list(range(0, 250_000, 1000)), list(np.linspace(0.1, 0.9, 250))),
    "falling": (list(range(1, 401)), list(5 * np.exp(-np.arange(400) / 60))),
    "many decades": ([1, 50, 100], [300.0, 1.0, 1e-6]),
    "a decade": ([1, 50, 100], [3.0, 1.0, 0.28]),
    "negative": ([1, 2, 3, 4], [-0.2, 0.1, 0.4, 0.6]),
    "large errors": ([1, 2, 3], [2512.0, 1804.0, 1711.0]),
}


def shown(labels: list[Text], low: float, high: float) -> list[Text]:
    """The labels inside the axis; matplotlib also has some outside, which it does not draw.

    Of the position of a label, the coordinate across its axis is 0.
    """
    return [label for label in labels if label.get_text() and low <= sum(label.get_position()) <= high]


@pytest.mark.parametrize("name", CURVES)
def test_ticks_are_few_distinct_and_do_not_overlap(name: str) -> None:
    steps, values = CURVES[name]
    figure = Figure(figsize=(5.5, 4.2), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.plot(steps, values)
    set_ticks(axis)
    canvas.draw()
    for each, limits in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        labels = shown(each.get_ticklabels(), *limits)
        words = [label.get_text() for label in labels]
        assert 1 <= len(words) <= 8 and len(set(words)) == len(words), words
        assert max(map(len, words)) <= 7, words
        boxes = [label.get_window_extent(canvas.get_renderer()) for label in labels]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]), words
    assert all(text.get_text().replace(",", "").isdigit() for text in shown(axis.get_xticklabels(), *axis.get_xlim()))
    assert not axis.yaxis.get_offset_text().get_text()


def test_a_curve_that_does_not_move_looks_flat() -> None:
    figure = Figure()
    axis = figure.subplots()
    axis.plot(*CURVES["constant"])
    set_ticks(axis)
    low, high = axis.get_ylim()
    assert low < 1.0 and high - low > 50 * 0.0002


def test_the_picture_is_written(tmp_path: Path) -> None:
    rows = ['{"step": 1, "losses": {"sst": 1.0}}', '{"step": 2, "scores": {"sst": {"accuracy": 0.5}}, "overall": 0.5}']
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert draw_curves(tmp_path).read_bytes().startswith(b"\x89PNG")
