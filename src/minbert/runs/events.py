"""The events that a run yields while it trains."""

from dataclasses import dataclass, field

from minbert.runs.data_findings import Finding
from minbert.runs.outcomes import TaskOutcome
from minbert.runs.work import PlannedWork
from minbert.training.loop import Step

Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Started:
    """Everything is read and built; training starts or resumes."""

    # task: (training rows, dev rows)
    rows: dict[str, tuple[int, int]]
    skipped: dict[str, int]
    parameters: dict[str, int]
    steps: int
    # floating-point operations per second of a matrix product of this size on this machine
    rate: float
    # for an estimate of the remaining time
    work: PlannedWork
    # steps that were done before a resume
    done: int = 0
    # what the user should know about the resume
    notes: tuple[str, ...] = ()
    # what is wrong with the data
    warnings: tuple[str, ...] = ()
    # what was chosen for a recipe without stages
    settings: tuple[str, ...] = ()
    # task: why rows are skipped, and how many for each reason
    skip_reasons: dict[str, dict[str, int]] = field(default_factory=dict)
    # task: labeled rows of its test file
    test_rows: dict[str, int] = field(default_factory=dict)
    # task: training rows that are held out to choose the model
    validation_rows: dict[str, int] = field(default_factory=dict)
    # the warnings, and what each of them is about
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Measuring:
    """Progress of an evaluation: rows done of all rows."""

    done: int
    total: int


@dataclass(frozen=True)
class Evaluated:
    """The scores at some step, on the rows that choose the model; `best`: whether this is the best model so far."""

    step: int
    scores: Scores
    overall: float
    best: bool
    # of linear heads on the untrained backbone, before the first step
    untrained: bool = False


@dataclass(frozen=True)
class Finished:
    """The scores of the kept model on all dev rows."""

    scores: Scores
    overall: float
    stopped_early: bool
    # how good each task is, and whether it beats the constant answer and the untrained backbone
    outcomes: dict[str, TaskOutcome] = field(default_factory=dict)
    # of tasks whose dev rows are also training rows: how many, and the scores without them
    leaked: dict[str, int] = field(default_factory=dict)
    without_leaks: Scores = field(default_factory=dict)
    # whether it stopped early because its time was up
    out_of_time: bool = False
    # the step after which the kept model was saved; 0 or None: only linear heads were fitted
    kept_step: int | None = None


Event = Started | Step | Measuring | Evaluated | Finished


class Stopped(Exception):
    """Training was asked to stop, and everything is saved."""

    def __init__(self, signal: int, step: int) -> None:
        super().__init__(f"stopped by signal {signal} after step {step}")
        self.signal = signal
        self.step = step
