"""A run's stages -> how often they draw which tasks, how long each draw takes here, and what fits into a limit."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from minbert.config.recipe import Recipe
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared
from minbert.training.samplers import Sampler, StageSizes
from minbert.training.stages import StagePlan, plan_stages

# the first step of each kind allocates what the others reuse, so it is not timed
WARMUP_STEPS, TIMED_STEPS = 1, 3
# bisection steps: a precision of one thousandth of the range is enough
SEARCH_STEPS = 10

# the tasks that a sampler draws at once
TaskDraw = tuple[str, ...]
# (stage settings, tasks drawn)
DrawKind = tuple[str, TaskDraw]


def largest_fraction(
    recipe: Recipe,
    sizes: Mapping[str, int],
    lengths: Mapping[str, int],
    limit: float,
    cost_per_draw: Mapping[DrawKind, float] | None = None,
) -> float:
    """The largest fraction whose draws cost no more than the limit; without `cost_per_draw`, each draw costs 1."""

    def cost(fraction: float) -> float:
        return training_cost(replace(recipe, epoch_fraction=fraction), sizes, lengths, cost_per_draw)

    whole = cost(recipe.epoch_fraction)
    if whole <= limit:
        return recipe.epoch_fraction
    # every task has at least one batch in every epoch, so a fraction costs at least its proportional part
    low, high = 0.0, min(recipe.epoch_fraction, 2 * recipe.epoch_fraction * limit / whole)
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= limit else (low, middle)
    # where not even the smallest fraction fits, take the smallest
    return low or high


def training_cost(
    recipe: Recipe,
    sizes: Mapping[str, int],
    lengths: Mapping[str, int],
    cost_per_draw: Mapping[DrawKind, float] | None,
) -> float:
    counts = count_draws(plan_stages(recipe, sizes, lengths), recipe)
    return draw_seconds(counts, cost_per_draw) if cost_per_draw is not None else counts.total()


def draw_kind(plan: StagePlan, draw: TaskDraw) -> DrawKind:
    """What decides how long a draw takes: stages that differ only in their length are the same."""
    return repr(replace(plan.stage, epochs=1)), draw


def count_draws(plans: Sequence[StagePlan], recipe: Recipe) -> Counter[DrawKind]:
    """How often the stages will draw which tasks."""
    counts: Counter[DrawKind] = Counter()
    for plan in plans:
        for epoch in range(plan.stage.epochs):
            plan.sampler.begin_epoch(epoch + 1)
            drawn = Counter(
                plan.sampler.draw() for _ in range(plan.steps_per_epoch * recipe.optimizer.gradient_accumulation_steps)
            )
            counts.update({draw_kind(plan, draw): count for draw, count in drawn.items()})
    return counts


def draw_seconds(counts: Counter[DrawKind], seconds_per_draw: Mapping[DrawKind, float]) -> float:
    def cost(kind: DrawKind) -> float:
        stage, draw = kind
        # some of the tasks at once take as long as each of them alone
        return seconds_per_draw[kind] if kind in seconds_per_draw else sum(cost((stage, (task,))) for task in draw)

    return sum(count * cost(kind) for kind, count in counts.items())


class FixedDraw(Sampler):
    """The same tasks in every draw."""

    def __init__(self, sizes: StageSizes, seed: int, chosen: TaskDraw) -> None:
        super().__init__(sizes, seed)
        self.chosen = chosen

    def draw(self) -> TaskDraw:
        return self.chosen


def time_draws(ready: Prepared, timed: int = TIMED_STEPS) -> dict[DrawKind, float]:
    """Seconds per draw of each kind, from a few steps. The model cannot be used afterwards."""
    learning, teachers = ready.setup, {}
    tried: dict[DrawKind, StagePlan] = {}
    for plan in learning.plans:
        stage = replace(plan.stage, epochs=1)
        for draw in plan.sampler.typical_draws():
            kind, number = draw_kind(plan, draw), len(tried)
            if kind in tried:
                continue
            fixed = FixedDraw(plan.sampler.sizes, 0, draw)
            steps = WARMUP_STEPS + timed
            tried[kind] = replace(plan, number=number, stage=stage, sampler=fixed, steps_per_epoch=steps)
            if plan.number in learning.teachers:
                teachers[number] = learning.teachers[plan.number]
    seconds: list[list[float]] = [[] for _ in tried]
    last = time.perf_counter()
    for step in Loop(ready.model, replace(learning, plans=list(tried.values()), teachers=teachers)):
        seconds[step.stage].append(time.perf_counter() - last)
        last = time.perf_counter()
    draws = timed * ready.recipe.optimizer.gradient_accumulation_steps
    return {kind: sum(found[WARMUP_STEPS:]) / draws for kind, found in zip(tried, seconds, strict=True)}
