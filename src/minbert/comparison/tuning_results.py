"""The scores of each setting on the folds -> the best setting, and how clear that is.

Two settings differ on the same folds, so their difference has the residual variance of settings x folds, pooled over
all settings: that of one pair on three folds is often far too small by chance. Folds share training rows, which makes
their scores more alike than new data would be; Nadeau and Bengio (2003, Machine Learning 52) add the ratio of held-out
to training rows, 1 / (folds - 1), to the 1 / folds of independent scores.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from minbert.comparison.results import TrialResult
from minbert.comparison.search_space import Candidate

# of the settings that are about as good as the best
MOST_NAMED = 3
DIVERGED = re.compile(r"The loss of task '(.*)' became \S+ at step (\d+)")


@dataclass(frozen=True)
class SettingResult:
    """One candidate with one fraction of the training, over all folds."""

    candidate: Candidate
    fraction: float
    # by fold, from 1; those of a candidate that could not be built are empty
    trials: Mapping[int, TrialResult] = field(default_factory=dict)
    # why nothing was trained
    invalid: str = ""

    @property
    def label(self) -> str:
        return self.candidate.label

    @property
    def scores(self) -> dict[int, float]:
        """The overall score on each fold that is finished."""
        found = {number: each.overall for number, each in self.trials.items() if each.state == "finished"}
        return {number: score for number, score in found.items() if score is not None and math.isfinite(score)}

    @property
    def failures(self) -> dict[str, list[int]]:
        """Why it has no score on some folds, and on which."""
        found: dict[str, list[int]] = {self.invalid: []} if self.invalid else {}
        for number, each in self.trials.items():
            if number not in self.scores:
                reason = each.reason or "its score is not a number"
                found.setdefault(diverged(reason) or reason, []).append(number)
        return found

    @property
    def complete(self) -> bool:
        return not self.failures and bool(self.trials)

    @property
    def all_diverged(self) -> bool:
        """Whether each trial that failed diverged: another attempt would do the same."""
        return bool(self.trials) and all(reason.startswith("diverged") for reason in self.failures)

    @property
    def mean(self) -> float | None:
        """None unless every fold is finished: the mean of some folds is not comparable."""
        return sum(self.scores.values()) / len(self.scores) if self.complete else None

    @property
    def standard_error(self) -> float | None:
        """Of the mean over folds."""
        mean, scores = self.mean, self.scores
        if mean is None or len(scores) < 2:
            return None
        squares = sum((score - mean) ** 2 for score in scores.values())
        return math.sqrt(squares / (len(scores) - 1) / len(scores))

    def task_means(self) -> dict[str, float]:
        """The mean of each task's main metric over folds, by "task.metric"."""
        first = next(iter(self.trials.values()))
        return {
            f"{task}.{metric}": sum(each.scores[task][metric] for each in self.trials.values()) / len(self.trials)
            for task, metrics in first.scores.items()
            for metric in list(metrics)[:1]
        }


def diverged(reason: str) -> str:
    """In plain words, if the loss was not a number any more; else empty."""
    found = DIVERGED.search(reason)
    return f"diverged: the loss of task '{found[1]}' was not a number any more at step {found[2]}" if found else ""


@dataclass(frozen=True)
class TuningCost:
    """What all finished trials of a search cost together."""

    trials: int
    failed: int
    seconds: float
    steps: float
    tokens: float


@dataclass(frozen=True)
class TuningResults:
    """All settings that were tried. Settings with less than the whole training are out of the running."""

    recipe: str
    search: str
    folds: int
    seed: int
    budget: str
    command: str
    settings: tuple[SettingResult, ...]
    # settings that are tried, with their paths
    paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @cached_property
    def ranked(self) -> list[SettingResult]:
        """Each setting with its largest fraction of the training: the best mean first, those without a score last."""
        furthest = {each.candidate: each for each in sorted(self.settings, key=lambda each: each.fraction)}

        def rank(each: SettingResult) -> tuple[bool, float, float]:
            return each.mean is None, -each.fraction, -(each.mean or 0.0)

        return sorted(furthest.values(), key=rank)

    @property
    def best(self) -> SettingResult | None:
        first = next(iter(self.ranked), None)
        return first if first is not None and first.mean is not None and first.fraction == 1 else None

    @property
    def compared(self) -> list[SettingResult]:
        """The settings with the whole training and a score on every fold, the best first."""
        return [each for each in self.ranked if each.mean is not None and each.fraction == 1]

    @property
    def within_noise(self) -> list[SettingResult]:
        """The settings that the best one is not clearly better than."""
        clear = clear_difference([list(each.scores.values()) for each in self.compared])
        means = [each.mean or 0.0 for each in self.compared]
        return [each for each, mean in zip(self.compared, means, strict=True) if means[0] - mean <= clear][1:]

    @property
    def within_one_error(self) -> list[SettingResult]:
        """The settings within one standard error of the best: by that rule the simplest of them may be chosen."""
        best = self.best
        if best is None or best.mean is None or best.standard_error is None:
            return []
        least = best.mean - best.standard_error
        return [each for each in self.compared[1:] if each.mean is not None and each.mean >= least]

    @property
    def failed(self) -> list[SettingResult]:
        return [each for each in self.ranked if each.failures]

    @property
    def cost(self) -> TuningCost:
        trials = list({t.key: t for each in self.settings for t in each.trials.values()}.values())
        costs = [each.cost for each in trials if each.cost is not None]
        failed = sum(each.state != "finished" for each in trials)
        totals = (sum(c.seconds for c in costs), sum(c.steps for c in costs), sum(c.tokens for c in costs))
        return TuningCost(len(trials), failed, *totals)

    def decision(self) -> list[str]:
        """The best settings and how clear they are, in sentences."""
        best = self.best
        if best is None or best.mean is None:
            return ["No setting has a score on every fold."]
        error = "" if best.standard_error is None else f" ± {best.standard_error:.3f}"
        lines = [f"Best: {best.label} (overall {best.mean:.3f}{error})."]
        if self.within_noise:
            names = [f"{each.label} ({each.mean:.3f})" for each in self.within_noise]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            lines.append(f"Not clearly better than {'; '.join(names[:MOST_NAMED])}{more}.")
        elif len(self.compared) > 1:
            lines.append("Clearly better than all other settings (95 %, over folds).")
        return lines


def clear_difference(scores_KF: Sequence[Sequence[float]]) -> float:
    """The smallest difference between the means of two settings that is clear: t-test at 95 %, pooled variance."""
    settings, folds = len(scores_KF), len(scores_KF[0]) if scores_KF else 0
    if settings < 2 or folds < 2:
        return math.inf
    # scipy takes a second to import
    import numpy as np
    from scipy.stats import t

    scores = np.asarray(scores_KF)
    residuals = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    freedom = (settings - 1) * (folds - 1)
    variance = float((residuals**2).sum()) / freedom
    return float(t.ppf(0.975, freedom)) * math.sqrt(2 * variance * (1 / folds + 1 / (folds - 1)))


def ordered_values(settings: Sequence[SettingResult], path: str) -> list[float]:
    """The different values of a numeric setting that were tried, in order; none if any is not a number."""
    values = [each.candidate.value_of(path) for each in settings]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return []
    return sorted(set(values))
