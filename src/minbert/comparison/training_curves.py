"""metrics.jsonl of several runs -> scores and gradient cosines over training, as a mean over seeds with a band."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minbert.comparison.results import OVERALL, Curve

# step: value
StepValues = dict[float, float]


def training_curves(
    runs: Iterable[Path], measures: Sequence[str]
) -> tuple[dict[str, Curve], dict[tuple[str, str], Curve]]:
    """Each measure, and the gradient cosine of each pair of tasks, over the steps of some runs."""
    scores: dict[str, list[StepValues]] = {}
    cosines: dict[str, list[StepValues]] = {}
    for run in runs:
        points, angles = logged_points(run, measures)
        for into, new in ((scores, points), (cosines, angles)):
            for name, each in new.items():
                into.setdefault(name, []).append(each)
    pairs = {(name.partition(" ")[0], name.partition(" ")[2]): curve_over_seeds(each) for name, each in cosines.items()}
    return {name: curve_over_seeds(scores[name]) for name in measures if name in scores}, pairs


def logged_points(run: Path, measures: Sequence[str]) -> tuple[dict[str, StepValues], dict[str, StepValues]]:
    """The scores by measure, and the cosines by pair of tasks, that one run has logged."""
    points: dict[str, StepValues] = {}
    angles: dict[str, StepValues] = {}
    for row in logged_scores(run):
        found = {f"{task}.{name}": value for task, by in row.get("scores", {}).items() for name, value in by.items()}
        found |= {OVERALL: row["overall"]} if "overall" in row else {}
        for name in measures:
            if name in found:
                points.setdefault(name, {})[row["step"]] = found[name]
        for name, value in row.get("cosines", {}).items():
            angles.setdefault(name, {})[row["step"]] = value
    return points, angles


def logged_scores(run: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's log with scores or cosines; most lines are steps, which are not needed here."""
    path = run / "metrics.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        if '"scores"' in line or '"cosines"' in line:
            yield json.loads(line)


def curve_over_seeds(seeds: Sequence[Mapping[float, float]]) -> Curve:
    """The mean plus and minus one standard deviation, at every step at which any seed was scored.

    A seed that was scored before and after a step, but not at it, counts with the interpolated value.
    """
    steps = np.array(sorted({step for points in seeds for step in points}), dtype=float)
    values_SP = np.array(
        [np.interp(steps, list(points), list(points.values()), left=np.nan, right=np.nan) for points in seeds]
    )
    mean_P = np.nanmean(values_SP, axis=0)
    count_P = (~np.isnan(values_SP)).sum(0)
    sd_P = np.sqrt(np.nansum((values_SP - mean_P) ** 2, axis=0) / np.maximum(count_P - 1, 1))
    return Curve(*(tuple(each.tolist()) for each in (steps, mean_P, mean_P - sd_P, mean_P + sd_P)))
