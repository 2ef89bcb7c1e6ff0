"""(recipes, their budgets) -> the fraction of each epoch that each may train, or why it could not be measured."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minbert.comparison.budget import Budget, BudgetTooShort
from minbert.comparison.engines import Engine, Returned
from minbert.config.recipe import Recipe
from minbert.data.source import DataSource
from minbert.training.draw_timing import time_draws
from minbert.training.prepare import Prepared, prepare

# recipes that are timed in the same rounds: the models of more may not fit into memory together
TIMED_TOGETHER = 4

FractionJob = tuple[Budget, Recipe, DataSource]


def measure_fractions(engine: Engine, jobs: Mapping[str, FractionJob]) -> Iterator[tuple[str, float | BaseException]]:
    """Counting needs no model. Times are measured the way the trials will run, a few recipes in turn."""
    if not any(budget.seconds for budget, *_ in jobs.values()):
        yield from call_in_process(Budget.epoch_fraction_of, jobs)
        return
    groups, alone = timing_groups(list(jobs), engine.at_once), list[str]()
    together = {name: ([jobs[each] for each in names],) for name, names in groups.items()}
    for name, found in engine.call(fractions_in_time, together):
        if not isinstance(found, BaseException):
            yield from zip(groups[name], found, strict=True)
        elif len(groups[name]) == 1:
            yield name, found
        else:
            # one of them may have failed, or together they were too large for the memory
            alone += groups[name]
    for name, found in engine.call(fractions_in_time, {name: ([jobs[name]],) for name in alone}):
        yield name, found if isinstance(found, BaseException) else found[0]


def timing_groups(names: Sequence[str], at_once: int) -> dict[str, list[str]]:
    """The names in groups of about the same size, by the first of each; as many as run at once, if there are enough."""
    count = max(math.ceil(len(names) / TIMED_TOGETHER), min(len(names), at_once))
    return {names[first]: list(names[first::count]) for first in range(count)}


def fractions_in_time(jobs: Sequence[FractionJob]) -> list[float | BudgetTooShort]:
    """Time the steps of some recipes in turn."""
    ready: list[Prepared] = [prepare(recipe, source) for _, recipe, source in jobs]
    found: list[float | BudgetTooShort] = []
    for (budget, *_), each, seconds_per_draw in zip(jobs, ready, time_draws(ready), strict=True):
        try:
            found.append(budget.fraction_in_time(each, seconds_per_draw))
        except BudgetTooShort as wrong:
            found.append(wrong)
    return found


def call_in_process(
    function: Callable[..., Returned], arguments: Mapping[str, tuple[Any, ...]]
) -> Iterator[tuple[str, Returned | BaseException]]:
    """Like `Engine.call`, in this process; an error affects only its own recipe."""
    for name, each in arguments.items():
        try:
            yield name, function(*each)
        except Exception as wrong:
            yield name, wrong
