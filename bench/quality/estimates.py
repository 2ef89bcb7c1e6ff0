"""Stored results -> scores of each system with intervals: per set, averaged over sets, and against each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np

from bench.quality.cells import Cell, Store
from bench.quality.schedule import SYSTEMS
from bench.quality.scores import Numbers, interval, resampled
from bench.quality.sets import SETS, Cut, read_cut

# they leave the backbone as it is; the probe first, because it wins a tie
UNTRAINED = ("probe", "cosine", "constant")


@dataclass(frozen=True)
class Estimate:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """A score, and its values in the rounds of the bootstrap."""

    value: float
    rounds: Numbers

    def __sub__(self, other: "Sample") -> "Sample":
        return Sample(self.value - other.value, self.rounds - other.rounds)

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, *interval(self.rounds))


class Findings:
    """All results of a store that belong to the rows that are there now."""

    def __init__(self, data: Path, store: Store) -> None:
        known = {path.stem: read_cut(path) for path in data.glob("*.json")}
        self.cuts: dict[str, Cut] = {name: known[name] for name in SETS if name in known}
        found = [cell for cell in store.all() if cell.set in self.cuts and cell.system in SYSTEMS]
        self.cells = [cell for cell in found if cell.digest == self.cuts[cell.set].digest]
        self._samples: dict[tuple[str, str, str], Sample | None] = {}

    @cached_property
    def systems(self) -> list[str]:
        return [name for name in SYSTEMS if any(cell.system == name for cell in self.cells)]

    def of(self, system: str, name: str) -> list[Cell]:
        return [cell for cell in self.cells if (cell.system, cell.set) == (system, name)]

    def sample(self, system: str, name: str, metric: str = "") -> Sample | None:
        """The mean over seeds; None if it was not measured."""
        cut = self.cuts[name]
        metric = metric or cut.set.metrics[0]
        key = (system, name, metric)
        if key not in self._samples:
            cells = self.of(system, name)
            self._samples[key] = sample_of(cut, metric, system, cells) if cells else None
        return self._samples[key]

    def average(self, system: str, names: Sequence[str]) -> Sample | None:
        """The mean of the first metrics of these sets; None unless all of them were measured."""
        samples = [self.sample(system, name) for name in names]
        known = [sample for sample in samples if sample is not None]
        if not names or len(known) < len(names):
            return None
        return Sample(mean(each.value for each in known), np.mean([each.rounds for each in known], axis=0))

    def groups(self) -> dict[str, list[str]]:
        """Sets that are averaged together."""
        names = list(self.cuts)
        found = {
            f"all {len(names)} sets": names,
            "single texts": [name for name in names if not SETS[name].paired],
            "pairs": [name for name in names if SETS[name].paired],
        }
        return {title: sets for title, sets in found.items() if len(sets) > 1}

    def control(self, name: str, metric: str = "", systems: Sequence[str] = UNTRAINED) -> tuple[str, Sample] | None:
        """The best of the systems that leave the backbone as it is; None without a probe."""
        samples = {system: self.sample(system, name, metric) for system in systems}
        known = {system: sample for system, sample in samples.items() if sample is not None}
        if "probe" not in known:
            return None
        best = max(known, key=lambda system: known[system].value)
        return best, known[best]


def sample_of(cut: Cut, metric: str, system: str, cells: Sequence[Cell]) -> Sample:
    value = mean(cell.scores[metric] for cell in cells)
    return Sample(value, resampled(cut, metric, system, [cell.answer.predictions for cell in cells]))
