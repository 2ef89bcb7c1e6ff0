"""What every engine has: trials in, results out, in any order."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from minbert.comparison.results import TrialResult
from minbert.comparison.trial import Trial

Returned = TypeVar("Returned")


@dataclass(frozen=True)
class TrialProgress:
    """Progress of a trial: steps done of all steps; no steps while it is being loaded."""

    trial: Trial
    done: int
    total: int
    # the trial's own estimate, in seconds
    remaining: float | None = None


# with fewer cores per trial, a second trial slows the first one down
CORES_PER_TRIAL = 4


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_jobs() -> int:
    """As many trials at once as there are accelerators; without one, as many as do not slow each other down."""
    import torch

    return torch.cuda.device_count() or max(1, available_cores() // CORES_PER_TRIAL)


class Engine(ABC):
    """Trains trials into the folder of a comparison.

    A trial writes its result into its own folder before it is reported, and a trial that is started again resumes
    from its checkpoint: an engine may lose workers, or be killed, and only the last steps are lost.
    """

    def __init__(self, comparison: Path, jobs: int | None) -> None:
        """`jobs`: how many trials at once; None: what suits the machine."""
        self.comparison = comparison
        self.jobs = jobs

    @property
    def at_once(self) -> int:
        return self.jobs or default_jobs()

    @property
    def threads(self) -> int:
        """Threads per trial, so that the trials that run at once fill a machine like this one.

        OMP_NUM_THREADS is the largest number, as for any other command.
        """
        share, limit = max(1, available_cores() // self.at_once), os.environ.get("OMP_NUM_THREADS", "")
        return min(share, int(limit)) if limit.isdecimal() and int(limit) else share

    @abstractmethod
    def call(
        self, function: Callable[..., Returned], arguments: Mapping[str, tuple[Any, ...]]
    ) -> Iterator[tuple[str, Returned | BaseException]]:
        """What a function returns for each of these arguments, or its exception: run where and how trials run."""

    @abstractmethod
    def run(self, trials: Sequence[Trial]) -> Generator[TrialProgress | TrialResult, None, None]:
        """Train them all. Closing the iterator early makes the running trials save themselves and stop."""
