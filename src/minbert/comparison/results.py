"""What a comparison found, as plain data: nothing here computes; statistics fill it in, the report shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from minbert.config.overall import OverallTerm
from minbert.config.task import Task

# the budget that is none
WHOLE = "whole recipes"
# the name of the measure that joins all tasks; the others are "task.metric"
OVERALL = "overall"
BETTER, WORSE, NO_EVIDENCE = "better", "worse", "no evidence of a difference"


@dataclass(frozen=True)
class TrialCost:
    """Of one training, or the mean over seeds."""

    # training only: neither reading nor measuring
    seconds: float
    steps: float
    tokens: float
    # parameters of the model, and those that learned in at least one stage
    total: int
    trainable: int
    # bytes: of the process at its largest; of the saved model
    memory: float
    size: float


@dataclass(frozen=True)
class TrialResult:
    """What came of one training of a comparison: a recipe with a seed."""

    key: str
    label: str
    seed: int
    # finished, failed, or missing
    state: str
    reason: str = ""
    # task: metric: value, on all dev rows
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    overall: float | None = None
    cost: TrialCost | None = None
    # the folder of the run, below the comparison's
    run: str = ""


@dataclass(frozen=True)
class Summary:
    """One recipe on one measure, over its seeds; sd and interval need two of them."""

    mean: float
    sd: float | None
    # 95 % interval of the mean over seeds (Student's t)
    low: float | None
    high: float | None
    values: Mapping[int, float]


@dataclass(frozen=True)
class ScoreDifference:
    """A recipe minus the baseline on one measure, over the seeds that both have. Above 0 is always better."""

    value: float
    # 95 % interval over seeds and dev rows; over dev rows alone where there is one seed
    low: float
    high: float
    p: float
    # Holm's correction over all that is tested together
    corrected: float
    # randomization over dev rows alone: are these very models different?
    p_rows: float
    # the smallest true difference that would have been found four times in five
    minimum_detectable_effect: float
    # Cohen's d over seeds; None with one seed, or where nothing varies
    effect: float | None
    # share of the baseline's errors that are gone, for metrics whose best value is 1
    errors_removed: float | None
    result: str
    # that both have: with one, nothing is known of the luck of seeds
    seeds: int


@dataclass(frozen=True)
class Curve:
    """A measure over training: mean over seeds with a band (one standard deviation)."""

    steps: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class System:
    """One recipe of a comparison."""

    label: str
    about: str
    # what its recipe has and the baseline's has not, as resolved: (setting, baseline's value, its own)
    changes: tuple[tuple[str, str, str], ...]
    seeds: tuple[int, ...]
    # seed: why there is nothing
    failed: Mapping[int, str]
    missing: tuple[int, ...]
    # measure: ...
    summaries: Mapping[str, Summary]
    differences: Mapping[str, ScoreDifference]
    cost: TrialCost | None
    curves: Mapping[str, Curve]
    # (task, task): cosine between their gradients in the shared encoder over training
    cosines: Mapping[tuple[str, str], Curve]
    # seed: folder of the run, below the comparison's
    runs: Mapping[int, str]


@dataclass(frozen=True)
class Gain:
    """Training together minus training alone, on one task, over seeds."""

    task: str
    alone: Summary
    together: Summary
    difference: ScoreDifference


@dataclass(frozen=True)
class Transfer:
    """What training on `source` does for `target`, beside training on the target alone; how: "with" or "then"."""

    source: str
    target: str
    how: str
    difference: ScoreDifference


@dataclass(frozen=True)
class ComparisonResults:
    title: str
    baseline: str
    tasks: Mapping[str, Task]
    # "sst.accuracy", ..., and last "overall"
    measures: tuple[str, ...]
    seeds: tuple[int, ...]
    # ranked by the overall measure, the best first; those without a result last
    systems: tuple[System, ...]
    # False: some cells are failed or missing, so the ranking is of what there is
    complete: bool
    # in words: "10 minutes of training a cell", "400 steps a cell", "whole recipes"
    budget: str
    backbone: str
    # how many differences were tested together
    tested: int
    # the commands that make all this again
    commands: tuple[str, ...]
    # versions of torch and minbert, the machine, sha256 of the data
    provenance: Mapping[str, str]
    gains: tuple[Gain, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    # trainings that only show whether sharing helps and have no result: label: seed: why
    beside: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    # "task.metric": what it counts in the overall score; none: the mean of the tasks' main metrics
    overall: Mapping[str, OverallTerm] = field(default_factory=dict)
    # sentences: what makes the trainings less comparable than the tables look
    caveats: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        return self.systems[0].label
