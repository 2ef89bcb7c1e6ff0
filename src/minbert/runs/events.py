"""What a training tells as it goes."""

from dataclasses import dataclass

from minbert.training.loop import Step

Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Started:
    """Everything is read and built; training begins, or goes on."""

    # task: (training rows, dev rows)
    rows: dict[str, tuple[int, int]]
    skipped: dict[str, int]
    parameters: dict[str, int]
    steps: int
    # floating-point operations a second of a matrix product of this size here
    rate: float
    # steps that were done before: it goes on from there
    done: int = 0
    # what there is to know about going on
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measuring:
    """How far an evaluation has come: rows done of all rows."""

    done: int
    total: int


@dataclass(frozen=True)
class Evaluated:
    """The dev scores at some step; `best` says whether this model is the one kept so far."""

    step: int
    scores: Scores
    overall: float
    best: bool


@dataclass(frozen=True)
class Finished:
    """The kept model on the whole dev files, and the untrained one where it was asked for."""

    scores: Scores
    overall: float
    before: Scores
    before_overall: float
    stopped_early: bool


Event = Started | Step | Measuring | Evaluated | Finished


class Stopped(Exception):
    """Training was asked to stop, and everything is saved."""

    def __init__(self, signal: int, step: int) -> None:
        super().__init__(f"stopped by signal {signal} after step {step}")
        self.signal = signal
        self.step = step
