"""(what to try, how to search) -> rounds of candidates, each chosen from the scores of the rounds before.

A strategy is a generator: it yields a Round and is sent the score of each of its candidates (None: failed). It depends
on nothing but the seed and the scores, so a search that was killed is repeated from its start, and the trials that are
finished are only read.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from minbert.comparison.search_space import Candidate, Dimension, grid_candidates
from minbert.errors import UserError

SamplerName = Literal["random", "tpe"]
# successive halving: a third of the candidates goes on to three times the training
REDUCTION = 3
# the first round trains at least this fraction (1/27) of the steps
MOST_RUNGS = 4


@dataclass(frozen=True)
class Round:
    """Candidates to train and score, with a fraction of the training."""

    candidates: tuple[Candidate, ...]
    fraction: float = 1.0


CandidateScores = Mapping[Candidate, float | None]
Rounds = Generator[Round, CandidateScores, None]


@dataclass(frozen=True)
class Search:
    """How settings are searched: a grid, or a number of samples; with or without successive halving."""

    trials: int | None = None
    sampler: SamplerName = "tpe"
    halving: bool = False
    seed: int = 0

    def rounds(self, dimensions: Sequence[Dimension]) -> Rounds:
        if self.trials is None:
            return known_rounds(grid_candidates(dimensions), self.halving)
        optuna = import_optuna()
        if self.sampler == "random":
            return known_rounds(random_candidates(optuna, dimensions, self.trials, self.seed), self.halving)
        return tpe_rounds(optuna, dimensions, self)

    def check(self, dimensions: Sequence[Dimension]) -> None:
        """UserError if it cannot begin."""
        if self.trials is None:
            grid_candidates(dimensions)
        else:
            import_optuna()

    def most_settings(self, dimensions: Sequence[Dimension]) -> list[float]:
        """For each setting that is trained at most, in each round of successive halving: its part of the training."""
        count = self.trials or math.prod(len(each.values) for each in dimensions)
        rungs = rung_count(count) if self.halving else 1
        if self.trials is not None and self.sampler == "tpe":
            return [rung_fraction(rung, rungs) for _ in range(count) for rung in range(rungs)]
        found = []
        for rung in range(rungs):
            found += [rung_fraction(rung, rungs)] * count
            count = -(-count // REDUCTION)
        return found

    def __str__(self) -> str:
        kind = "grid" if self.trials is None else f"{self.trials} samples ({self.sampler})"
        return f"{kind}, successive halving" if self.halving else kind


def known_rounds(candidates: Sequence[Candidate], halving: bool) -> Rounds:
    """Candidates that do not depend on scores: all at once, or in rounds of which the best third goes on."""
    unique = tuple(dict.fromkeys(candidates))
    rungs = rung_count(len(unique)) if halving else 1
    for rung in range(rungs):
        scores = yield Round(unique, rung_fraction(rung, rungs))
        scored = {each: score for each in unique if (score := scores.get(each)) is not None}
        # sorted() keeps the order of equal scores
        best = sorted(scored, key=lambda each: -scored[each])
        unique = tuple(best[: -(-len(unique) // REDUCTION)])
        if not unique:
            return


def rung_count(candidates: int) -> int:
    """So many rounds that at most three candidates get the whole training: two of them can still be compared."""
    rungs, left = 1, candidates
    while left > REDUCTION and rungs < MOST_RUNGS:
        rungs, left = rungs + 1, -(-left // REDUCTION)
    return rungs


def rung_fraction(rung: int, rungs: int) -> float:
    return float(REDUCTION) ** (rung - rungs + 1)


# ---- samples, by Optuna -------------------------------------------------------------------------------


def import_optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise UserError(
            "--trials samples settings with Optuna, which is not installed.",
            "pip install 'minbert[tune]', or leave out --trials to train every combination.",
        ) from None
    # it would announce each study on standard error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna  # type: ignore[no-any-return]


def random_candidates(optuna: ModuleType, dimensions: Sequence[Dimension], count: int, seed: int) -> list[Candidate]:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed))
    return [suggest(study.ask(), dimensions) for _ in range(count)]


def tpe_rounds(optuna: ModuleType, dimensions: Sequence[Dimension], search: Search) -> Rounds:
    """One candidate at a time: each is chosen from the scores of all before."""
    assert search.trials is not None
    rungs = rung_count(search.trials) if search.halving else 1
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=REDUCTION)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=search.seed),
        pruner=pruner if rungs > 1 else optuna.pruners.NopPruner(),
    )
    states = optuna.trial.TrialState
    for _ in range(search.trials):
        trial = study.ask()
        state, score = yield from climb(trial, suggest(trial, dimensions), rungs, states)
        study.tell(trial, score if state is states.COMPLETE else None, state=state)


def climb(
    trial: Any, candidate: Candidate, rungs: int, states: Any
) -> Generator[Round, CandidateScores, tuple[Any, float | None]]:
    """One candidate with more and more of the training, until the pruner stops it."""
    score = None
    for rung in range(rungs):
        scores = yield Round((candidate,), rung_fraction(rung, rungs))
        score = scores.get(candidate)
        if score is None:
            return states.FAIL, None
        trial.report(score, REDUCTION**rung)
        if rung < rungs - 1 and trial.should_prune():
            return states.PRUNED, score
    return states.COMPLETE, score


def suggest(trial: Any, dimensions: Sequence[Dimension]) -> Candidate:
    """Optuna's choice for each setting."""
    settings = []
    for each in dimensions:
        if each.is_range:
            ask: Callable[..., float] = trial.suggest_int if each.whole else trial.suggest_float
            ends = (round(each.low), round(each.high)) if each.whole else (each.low, each.high)
            value = each.written(ask(each.path, *ends, log=each.log))
        else:
            value = str(trial.suggest_categorical(each.path, each.values))
        settings.append((each.path, value))
    return Candidate(tuple(settings))
