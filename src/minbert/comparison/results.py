"""The results of a comparison as plain data: statistics fill it in, the report shows it, nothing here computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from minbert.config.overall_terms import OverallTerm
from minbert.config.task import Task

# how a comparison without a budget is called, and how the name of a budget of time ends
WHOLE, TIMED = "whole recipes", "of training each"
# the measure over all tasks; the others are "task.metric"
OVERALL = "overall"
# scores that differ by less are equal up to rounding
EQUAL = 1e-12
BETTER, WORSE, NO_EVIDENCE = "better", "worse", "no evidence of a difference"


@dataclass(frozen=True)
class TrialCost:
    """The cost of one trial, or the mean over seeds; run.json has the same fields."""

    # of training steps only, without reading and scoring
    seconds: float
    steps: float
    tokens: float
    # parameters of the model, and those that are trained in at least one stage
    total: int
    trainable: int
    # bytes of the process at its largest, and of the saved model
    memory: float
    size: float
    # training rows drawn; 0: not recorded
    examples: float = 0.0


@dataclass(frozen=True)
class TrialResult:
    """The result of one trial: a recipe with a seed."""

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
    # the folder of the run, relative to the comparison's
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
    # 95 % interval over seeds and dev rows; over dev rows alone with one seed
    low: float
    high: float
    # at the level of Holm's correction: without 0 if and only if the result is "better" or "worse"
    corrected_low: float
    corrected_high: float
    p: float
    # p with Holm's correction over all differences that are tested together
    corrected: float
    # permutation test over dev rows alone: do these particular models differ?
    p_rows: float
    # the smallest true difference on this measure that would be detected with a probability of 0.8
    minimum_detectable_effect: float
    # Cohen's d over seeds; None with one seed, or where nothing varies
    effect: float | None
    # fraction of the baseline's errors that are removed, for metrics whose best value is 1
    errors_removed: float | None
    result: str
    # seeds that both have; with one, the variation between seeds is unknown
    seeds: int

    def reversed(self) -> "ScoreDifference":
        """The baseline minus the recipe."""
        return replace(
            self,
            value=-self.value,
            low=-self.high,
            high=-self.low,
            corrected_low=-self.corrected_high,
            corrected_high=-self.corrected_low,
            effect=None if self.effect is None else -self.effect,
            # it is about the errors of the other side
            errors_removed=None,
            result={BETTER: WORSE, WORSE: BETTER}.get(self.result, self.result),
        )


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
    # differences of its resolved config from the baseline's: (setting, baseline's value, its value)
    changes: tuple[tuple[str, str, str], ...]
    seeds: tuple[int, ...]
    # seed: why there is no result
    failed: Mapping[int, str]
    missing: tuple[int, ...]
    # by measure
    summaries: Mapping[str, Summary]
    differences: Mapping[str, ScoreDifference]
    cost: TrialCost | None
    curves: Mapping[str, Curve]
    # (task, task): cosine between their gradients in the shared encoder over training
    cosines: Mapping[tuple[str, str], Curve]
    # seed: folder of the run, relative to the comparison's
    runs: Mapping[int, str]


@dataclass(frozen=True)
class Control:
    """Predictions that cost nothing, which a system must beat to be worth its training."""

    # the constant answer, or the untrained backbone
    kind: str
    # the systems that it is a control of: all, unless their data, backbones or lengths differ
    labels: tuple[str, ...]
    # by measure
    scores: Mapping[str, float]
    # system: measure: that system minus this control
    differences: Mapping[str, Mapping[str, ScoreDifference]]

    def not_beaten_by(self, measure: str) -> tuple[str, ...]:
        """The systems that are not better than this control."""
        return tuple(label for label, each in self.on(measure).items() if each.value <= EQUAL)

    def unclear_for(self, measure: str) -> tuple[str, ...]:
        """The systems that are better, but not clearly: the corrected interval includes 0."""
        return tuple(label for label, each in self.on(measure).items() if each.value > EQUAL and each.result != BETTER)

    def on(self, measure: str) -> dict[str, ScoreDifference]:
        return {label: by[measure] for label, by in self.differences.items() if measure in by}


@dataclass(frozen=True)
class Gain:
    """Joint training minus training alone, on one task, over seeds."""

    task: str
    alone: Summary
    together: Summary
    difference: ScoreDifference


@dataclass(frozen=True)
class Transfer:
    """The effect of also training on `source` on the score of `target`; how: "with" (jointly) or "then" (before it)."""

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
    # the best overall score first; those without a result last
    systems: tuple[System, ...]
    # False: some trials have failed or are missing, so the ranking covers the rest
    complete: bool
    # in words: "10 minutes of training each", "400 steps per training run", "whole recipes", ...
    budget: str
    backbone: str
    # how many differences were tested together
    tested: int
    # the commands that reproduce all this
    commands: tuple[str, ...]
    # versions of torch and minbert, the machine, sha256 of the data
    provenance: Mapping[str, str]
    gains: tuple[Gain, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    # trials that only measure transfer and have no result: label: seed: reason
    beside: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    # "task.metric": what it counts in the overall score; empty: the mean of the tasks' main metrics
    overall: Mapping[str, OverallTerm] = field(default_factory=dict)
    # by label, the fraction of the training rows that chose the models; 0: dev rows did; empty: not known
    validation: Mapping[str, float] = field(default_factory=dict)
    # sentences on what makes the trials less comparable than the tables suggest
    caveats: tuple[str, ...] = ()
    # what every system must beat
    controls: tuple[Control, ...] = ()

    @property
    def best(self) -> str:
        return self.systems[0].label
