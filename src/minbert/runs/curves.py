"""metrics.jsonl of a run -> curves.png: loss and score of each task over the steps."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# between the labels of an axis
MOST_INTERVALS = 6
# losses are shown on a logarithmic axis if the largest is more than this many times the smallest
LOG_RATIO = 10.0
# the least range of values, relative to large ones: smaller changes are noise
LEAST_RANGE = 0.02
# task, or task and metric: (step, value)
Points = dict[str, list[tuple[int, float]]]


def draw_curves(run: Path, rows: str = "dev") -> Path:
    """`rows`: those that are scored during training."""
    # the object interface: no pyplot, so no global state and no window
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    losses, scores = read_points(run)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for task, points in losses.items():
        steps, values = (np.array(column, float) for column in zip(*points, strict=True))
        left.plot(steps, running_mean(values), label=task, linewidth=1.6)
    left.set(title="training loss (smoothed)", xlabel="step")
    for name, points in scores.items():
        line = {"color": "black", "linewidth": 2.2} if name == "overall" else {"linewidth": 1.4}
        right.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name, **line)
    right.set(title=f"{rows} score", xlabel="step")
    for axis in (left, right):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=9)
        set_ticks(axis)
    path = run / "curves.png"
    figure.savefig(path, dpi=130)
    return path


def set_ticks(axis: "Axes") -> None:
    """Whole steps, and values with as many digits as they need, without an offset; at most seven labels each."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axis.xaxis.set_major_locator(MaxNLocator(MOST_INTERVALS, integer=True, min_n_ticks=1))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    values = [value for line in axis.lines for value in np.asarray(line.get_ydata(), float) if np.isfinite(value)]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if low > 0 and high / low > LOG_RATIO:
        axis.set_yscale("log")
        # 1, 2, 5 and 10 of up to two powers of ten; of more, only the powers
        subs = (1.0, 2.0, 5.0) if high / low <= 100 else (1.0,)
        axis.yaxis.set_major_locator(LogLocator(subs=subs, numticks=MOST_INTERVALS))
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        # a curve that hardly moves is drawn as a flat line
        margin = max(0.05 * (high - low), 0.5 * (LEAST_RANGE * max(1.0, abs(low)) - (high - low)))
        axis.set_ylim(low - margin, high + margin)
        axis.yaxis.set_major_locator(MaxNLocator(MOST_INTERVALS))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))


def read_points(run: Path) -> tuple[Points, Points]:
    """Losses by task, and scores by task and main metric."""
    losses: Points = {}
    scores: Points = {}
    for row in map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()):
        for task, loss in row.get("losses", {}).items():
            losses.setdefault(task, []).append((row["step"], loss))
        for task, found in row.get("scores", {}).items():
            metric, value = next(iter(found.items()))
            scores.setdefault(f"{task} {metric}", []).append((row["step"], value))
        if "overall" in row:
            scores.setdefault("overall", []).append((row["step"], row["overall"]))
    return losses, scores


def running_mean(values: np.ndarray, fraction: float = 0.05) -> np.ndarray:
    """The mean over a window that is a fraction of the points."""
    window = max(1, round(len(values) * fraction))
    padded = np.concatenate([np.full(window - 1, values[0]), values])
    return np.convolve(padded, np.full(window, 1 / window), mode="valid")
