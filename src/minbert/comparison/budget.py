"""(recipe, time or steps) -> the fraction of each epoch that fits into that budget on this machine."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from minbert.comparison.results import WHOLE
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared, prepare, read_data
from minbert.training.samplers import Sampler, StageSizes
from minbert.training.stages import StagePlan, plan_stages

# the first step of each kind allocates what the others reuse, so it is not timed
WARMUP_STEPS, TIMED_STEPS = 1, 3
# dev rows per task that are scored after an epoch: scoring should not take longer than training
EVAL_ROWS = 500
# bisection steps: a precision of one thousandth of the range is enough
SEARCH_STEPS = 10

# the tasks that a sampler draws at once
TaskDraw = tuple[str, ...]
# (stage settings, tasks drawn)
DrawKind = tuple[str, TaskDraw]


@dataclass(frozen=True)
class Budget:
    """What a trial may cost: seconds of training, or steps; neither means whole recipes."""

    seconds: float | None = None
    steps: int | None = None

    def __str__(self) -> str:
        if self.steps is not None:
            return f"{self.steps:,} steps per training run"
        if self.seconds is None:
            return WHOLE
        minutes = f"{self.seconds / 60:g} minutes" if self.seconds >= 120 else f"{self.seconds:g} seconds"
        return f"{minutes} of training each"

    def scaled(self, fraction: float) -> "Budget":
        """For a recipe that trains only some of the tasks."""
        return Budget(
            None if self.seconds is None else self.seconds * fraction,
            None if self.steps is None else max(1, round(self.steps * fraction)),
        )

    def epoch_fraction_of(self, recipe: Recipe, source: DataSource) -> float:
        """The fraction of each epoch of a recipe that fits into this budget, measured here."""
        if self.steps is not None:
            return fraction_for_steps(recipe, self.steps, source)
        if self.seconds is not None:
            return fraction_for_seconds(recipe, self.seconds, source)
        return recipe.epoch_fraction


def fraction_for_seconds(recipe: Recipe, seconds: float, source: DataSource = DEFAULT_SOURCE) -> float:
    """The fraction of each epoch that can be trained in this time, not counting reading and scoring."""
    ready = prepare(recipe, source)
    seconds_per_draw = time_draws(ready)
    sizes = {name: len(split.dataset) for name, split in ready.train.items()}
    lengths = {name: ready.model.task(name).max_length for name in ready.train}
    return largest_fraction(recipe, sizes, lengths, seconds, seconds_per_draw)


def fraction_for_steps(recipe: Recipe, steps: int, source: DataSource = DEFAULT_SOURCE) -> float:
    """The fraction of each epoch that this many optimizer steps train."""
    tasks, train, _ = read_data(recipe, source)
    sizes = {name: len(dataset) for name, dataset in train.items()}
    lengths = {name: recipe.tasks[name].max_length or task.max_length for name, task in tasks.items()}
    return largest_fraction(recipe, sizes, lengths, steps * recipe.optimizer.gradient_accumulation_steps)


def largest_fraction(
    recipe: Recipe,
    sizes: Mapping[str, int],
    lengths: Mapping[str, int],
    limit: float,
    cost_per_draw: Mapping[DrawKind, float] | None = None,
) -> float:
    """The largest fraction whose draws cost no more than the limit; without `cost_per_draw`, each draw costs 1."""

    def cost(fraction: float) -> float:
        short = replace(recipe, epoch_fraction=fraction)
        counts = count_draws(plan_stages(short, sizes, lengths), short)
        return draw_seconds(counts, cost_per_draw) if cost_per_draw is not None else counts.total()

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


def shortened(recipe: Recipe, epoch_fraction: float) -> Recipe:
    """The recipe with this fraction of each epoch, scored during training on at most EVAL_ROWS dev rows."""
    rows = min(EVAL_ROWS, recipe.selection.eval_rows or EVAL_ROWS)
    return replace(recipe, epoch_fraction=epoch_fraction, selection=replace(recipe.selection, eval_rows=rows))


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
    return sum(count * seconds_per_draw[kind] for kind, count in counts.items())


def possible_draws(sampler: Sampler) -> list[TaskDraw]:
    """A sampler draws all its tasks at once or, as most do, any one of them."""
    first = sampler.draw()
    return [first] if len(first) > 1 else [(task,) for task in sampler.tasks]


class FixedDraw(Sampler):
    """The same tasks in every draw."""

    def __init__(self, sizes: StageSizes, seed: int, chosen: TaskDraw) -> None:
        super().__init__(sizes, seed)
        self.chosen = chosen

    def draw(self) -> TaskDraw:
        return self.chosen


def time_draws(ready: Prepared) -> dict[DrawKind, float]:
    """Seconds per draw of each kind, from a few steps. The model cannot be used afterwards."""
    learning, teachers = ready.setup, {}
    tried: dict[DrawKind, StagePlan] = {}
    for plan in learning.plans:
        stage = replace(plan.stage, epochs=1)
        for draw in possible_draws(plan.sampler):
            kind, number = draw_kind(plan, draw), len(tried)
            if kind in tried:
                continue
            fixed = FixedDraw(plan.sampler.sizes, 0, draw)
            steps = WARMUP_STEPS + TIMED_STEPS
            tried[kind] = replace(plan, number=number, stage=stage, sampler=fixed, steps_per_epoch=steps)
            if plan.number in learning.teachers:
                teachers[number] = learning.teachers[plan.number]
    seconds: list[list[float]] = [[] for _ in tried]
    last = time.perf_counter()
    for step in Loop(ready.model, replace(learning, plans=list(tried.values()), teachers=teachers)):
        seconds[step.stage].append(time.perf_counter() - last)
        last = time.perf_counter()
    draws = TIMED_STEPS * ready.recipe.optimizer.gradient_accumulation_steps
    return {kind: sum(found[WARMUP_STEPS:]) / draws for kind, found in zip(tried, seconds, strict=True)}
