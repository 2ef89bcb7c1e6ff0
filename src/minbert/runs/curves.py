"""metrics.jsonl of a run -> curves.png: loss and score of each task over the steps."""

import json
from pathlib import Path

import numpy as np

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
    # a loss of 0 throughout, as of constant scores, has no logarithm
    if any(loss > 0 for points in losses.values() for _, loss in points):
        left.set_yscale("log")
    for name, points in scores.items():
        line = {"color": "black", "linewidth": 2.2} if name == "overall" else {"linewidth": 1.4}
        right.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name, **line)
    right.set(title=f"{rows} score", xlabel="step")
    for axis in (left, right):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=9)
    path = run / "curves.png"
    figure.savefig(path, dpi=130)
    return path


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
