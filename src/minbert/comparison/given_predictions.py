"""(gold labels, predictions of several systems and seeds, made by any tool) -> which system is better, and how certain.

N rows, C labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minbert.comparison.resampling import CLASSIFICATION_METRICS
from minbert.comparison.results import BETTER, WORSE, ScoreDifference
from minbert.comparison.statistics import difference_evidence, judge_differences, score_pairs
from minbert.config.task import TASK_METRICS
from minbert.data.metrics import Array, classify_scores, direction, regression_scores
from minbert.errors import UserError, did_you_mean

# of the bootstrap: the same predictions give the same result
RESAMPLING_SEED = (0,)


@dataclass(frozen=True)
class SystemComparison:
    """A system against the baseline. Above 0 is better, also for errors."""

    system: str
    # difference to the baseline, with its 95 % interval over seeds and rows
    value: float
    low: float
    high: float
    p: float
    # with Holm's correction over all systems
    corrected_p: float
    # "better", "worse" or "no evidence"
    verdict: str
    # means over seeds
    score: float
    baseline_score: float
    seeds: int
    # the smallest true difference that would be detected with a probability of 0.8
    minimum_detectable_effect: float


@dataclass(frozen=True)
class PredictionComparison(Sequence[SystemComparison]):
    """The systems as they were given, without the baseline; `comparison["new"]` finds one by its name."""

    metric: str
    baseline: str
    rows: int
    systems: tuple[SystemComparison, ...]

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return self.systems[which]
        for each in self.systems:
            if each.system == which:
                return each
        raise KeyError(which)

    def __len__(self) -> int:
        return len(self.systems)

    def __iter__(self) -> Iterator[SystemComparison]:
        return iter(self.systems)


def compare_predictions(
    gold: Any,
    systems: Mapping[str, Any],
    *,
    metric: str = "accuracy",
    baseline: str | None = None,
    labels: Sequence[Any] | None = None,
) -> PredictionComparison:
    """Compare the predictions of any tools for the same rows.

    `systems`: for each system the predictions of its seeds, one array per seed, or one array. An array holds labels,
    probabilities (a column per label, in the order of `labels`) or scores. `baseline`: by default the first system.
    `labels`: by default the sorted labels of `gold`; F1, precision and recall of two labels are those of the second.
    Over seeds, a system is compared with the baseline on as many as both have.
    """
    judged = judge_predictions(gold, systems, metric=metric, baseline=baseline, labels=labels)
    mean = {name: float(np.mean(seeds)) for name, seeds in judged.scores.items()}
    results = [system_comparison(name, mean[name], mean[judged.baseline], each) for name, each in judged.found.items()]
    return PredictionComparison(metric, judged.baseline, judged.rows, tuple(results))


@dataclass(frozen=True)
class JudgedPredictions:
    """Everything that is known of given predictions: the score of each seed, and the differences to the baseline."""

    baseline: str
    rows: int
    scores: dict[str, list[float]]
    found: dict[str, ScoreDifference]


def judge_predictions(
    gold: Any,
    systems: Mapping[str, Any],
    *,
    metric: str = "accuracy",
    baseline: str | None = None,
    labels: Sequence[Any] | None = None,
) -> JudgedPredictions:
    """As `compare_predictions`."""
    check_systems(systems, metric, baseline)
    first = next(iter(systems)) if baseline is None else baseline
    reader = PredictionReader(gold, metric, labels)
    read = {name: [reader.read(each, name, seed) for seed, each in enumerate(seeds_of(given))]
            for name, given in systems.items()}  # fmt: skip
    others = [name for name in systems if name != first]
    found = [difference_evidence(reader.pairs(read[name], read[first]), direction(metric) > 0) for name in others]
    scores = {name: [reader.score(each) for each in seeds] for name, seeds in read.items()}
    return JudgedPredictions(
        first, len(reader.gold_N), scores, dict(zip(others, judge_differences(found), strict=True))
    )


def system_comparison(name: str, score: float, baseline: float, found: ScoreDifference) -> SystemComparison:
    return SystemComparison(
        system=name,
        value=found.value,
        low=found.low,
        high=found.high,
        p=found.p,
        corrected_p=found.corrected,
        verdict={BETTER: "better", WORSE: "worse"}.get(found.result, "no evidence"),
        score=score,
        baseline_score=baseline,
        seeds=found.seeds,
        minimum_detectable_effect=found.minimum_detectable_effect,
    )


def check_systems(systems: Mapping[str, Any], metric: str, baseline: str | None) -> None:
    known = [*CLASSIFICATION_METRICS, *TASK_METRICS["score"]]
    if metric not in known:
        raise UserError(f"There is no metric '{metric}'.", did_you_mean(metric, known))
    if len(systems) < 2:
        raise UserError("Two systems or more are needed for a comparison.", "Give a dict of their predictions.")
    if baseline is not None and baseline not in systems:
        raise UserError(f"The baseline '{baseline}' is not one of the systems.", f"They are {', '.join(systems)}.")


def seeds_of(given: Any) -> list[Any]:
    """One entry per seed: a list of arrays has several, an array or a list of labels only one."""
    if isinstance(given, Mapping):
        return list(given.values())
    is_list = isinstance(given, list | tuple)
    several = is_list and len(given) > 0 and np.ndim(given[0]) > 0
    # a list of rows of probabilities is one array
    rows = several and all(isinstance(each, list | tuple) for each in given) and np.ndim(given[0][0]) == 0
    if rows and all(isinstance(value, float) for value in given[0]) and abs(sum(given[0]) - 1) < 1e-3:
        return [given]
    return list(given) if several else [given]


class PredictionReader:
    """Turns what is given into probabilities N x C, or scores N."""

    def __init__(self, gold: Any, metric: str, labels: Sequence[Any] | None) -> None:
        self.metric = metric
        self.classes = metric in CLASSIFICATION_METRICS
        gold_N = np.asarray(gold)
        if gold_N.ndim != 1 or not len(gold_N):
            raise UserError("The gold labels must be one value per row.", "Give a list, a Series or an array.")
        self.names = list(dict.fromkeys(np.unique(gold_N).tolist() if labels is None else labels))
        self.number = {name: i for i, name in enumerate(self.names)}
        self.gold_N = self.numbers(gold_N, "gold") if self.classes else finite(gold_N, "gold")

    def numbers(self, values_N: Array, what: str) -> Array:
        unknown = [value for value in dict.fromkeys(values_N.tolist()) if value not in self.number]
        if unknown:
            raise UserError(
                f"{what}: the label {unknown[0]!r} is not one of {', '.join(map(repr, self.names))}.",
                "Name all labels with `labels`, in the type that they have in gold.",
            )
        return np.array([self.number[value] for value in values_N.tolist()], dtype=np.int64)

    def read(self, given: Any, system: str, seed: int) -> Array:
        found, what = np.asarray(given), f"{system}, seed {seed}"
        if len(found) != len(self.gold_N):
            raise UserError(
                f"{what}: {len(found):,} predictions for {len(self.gold_N):,} rows.", "Give one prediction per row."
            )
        if not self.classes:
            return finite(found, what)
        if found.ndim == 2:
            if found.shape[1] != len(self.names):
                raise UserError(f"{what}: {found.shape[1]} columns of probabilities for {len(self.names)} labels.")
            return finite(found, what)
        if self.metric == "log_loss":
            raise UserError(f"{what}: log_loss needs probabilities, not labels.", "Choose metric='accuracy'.")
        return np.eye(len(self.names))[self.numbers(found, what)]

    def pairs(self, these: Sequence[Array], those: Sequence[Array]) -> Any:
        """The seeds of two systems as pairs of models."""
        count = min(len(these), len(those))
        places = [(i, count + i) for i in range(count)]
        return score_pairs(self.metric, self.gold_N, [*these[:count], *those[:count]], places, RESAMPLING_SEED)

    def score(self, predictions: Array) -> float:
        score = classify_scores if self.classes else regression_scores
        return float(score(predictions, self.gold_N)[self.metric])


def finite(values: Array, what: str) -> Array:
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        raise UserError(
            f"{what}: not all values are numbers.", "Choose a metric for labels, or convert them."
        ) from None
    if not np.isfinite(numbers).all():
        raise UserError(f"{what}: some values are missing or not finite.", "Leave these rows out of all systems.")
    return numbers
