"""What every engine has: cells in, results out, in any order."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from minbert.comparison.results import TrialResult
from minbert.comparison.trial import Trial

Out = TypeVar("Out")


@dataclass(frozen=True)
class Going:
    """How far a cell has come: steps done of all steps."""

    trial: Trial
    done: int
    total: int


# below this many cores a cell, a second one at once slows the first
CORES_A_CELL = 4


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_jobs() -> int:
    """As many cells at once as there are accelerators; without one, as do not slow each other."""
    import torch

    return torch.cuda.device_count() or max(1, cores() // CORES_A_CELL)


class Engine(ABC):
    """Trains cells into the folder of a comparison.

    A cell writes its result into its own folder before anybody hears of it, and a cell that is begun twice goes on
    from its checkpoint: so an engine may lose workers, or be killed, without losing more than the last steps.
    """

    def __init__(self, comparison: Path, jobs: int | None) -> None:
        """`jobs`: how many cells at once; None: what suits the machine."""
        self.comparison = comparison
        self.jobs = jobs

    @property
    def at_once(self) -> int:
        return self.jobs or default_jobs()

    @property
    def threads(self) -> int:
        """Threads of a cell, so that those that run at once fill a machine like this one."""
        return max(1, cores() // self.at_once)

    @abstractmethod
    def call(
        self, function: Callable[..., Out], work: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Out | BaseException]]:
        """What a function makes of each of these, or why it fails: where, and in the company in which, cells run."""

    @abstractmethod
    def run(self, trials: Sequence[Trial]) -> Generator[Going | TrialResult, None, None]:
        """Train them all. Leaving the iterator early makes what is going save itself and stop."""

    def lost(self, trial: Trial, reason: str) -> TrialResult:
        """The result of a cell whose worker died."""
        where = str(trial.folder(self.comparison).relative_to(self.comparison))
        return TrialResult(trial.key, trial.label, trial.recipe.seed, "failed", reason, run=where)
