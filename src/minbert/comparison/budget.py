"""(a recipe, a time) -> the recipe cut to as much of each epoch as can be trained in that time, on this machine."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from minbert.config.recipe import Recipe
from minbert.training.loop import Loop
from minbert.training.prepare import Prepared, prepare, read_data
from minbert.training.samplers import Sampler, StageSizes
from minbert.training.stages import StagePlan, plan_stages

# steps of each kind: the first one allocates what the others use, so it is not timed
WARM, TIMED = 1, 3
# dev rows of a task that are scored after an epoch: measuring should not take longer than learning
EVAL_ROWS = 500

# of the search for a share: a thousandth of what it can be is near enough
HALVINGS = 10

Draw = tuple[str, ...]
Kind = tuple[str, Draw]


def share_for(recipe: Recipe, seconds: float, data_root: Path | None = None, skip_bad_rows: bool = False) -> float:
    """How much of each epoch can be trained in this time, reading and measuring not counted."""
    ready = prepare(recipe, data_root, skip_bad_rows)
    each = time_kinds(ready)
    sizes = {name: len(part.examples) for name, part in ready.train.items()}
    lengths = {name: ready.model.task(name).max_length for name in ready.train}
    return largest_share(recipe, sizes, lengths, seconds, each)


def share_for_steps(recipe: Recipe, steps: int, data_root: Path | None = None, skip_bad_rows: bool = False) -> float:
    """How much of each epoch is trained in so many steps of the optimizer."""
    tasks, train, _ = read_data(recipe, data_root, skip_bad_rows)
    sizes = {name: len(examples) for name, examples in train.items()}
    lengths = {name: recipe.tasks[name].max_length or task.max_length for name, task in tasks.items()}
    return largest_share(recipe, sizes, lengths, steps * recipe.optimizer.gradient_accumulation_steps)


def largest_share(
    recipe: Recipe,
    sizes: Mapping[str, int],
    lengths: Mapping[str, int],
    limit: float,
    each: Mapping[Kind, float] | None = None,
) -> float:
    """The share whose draws cost no more than the limit; `each`: what a draw of a kind costs, 1 if it is not said."""

    def cost(share: float) -> float:
        short = replace(recipe, epoch_fraction=share)
        counts = count_kinds(plan_stages(short, sizes, lengths), short)
        return seconds_of(counts, each) if each is not None else counts.total()

    whole = cost(recipe.epoch_fraction)
    if whole <= limit:
        return recipe.epoch_fraction
    # every task has at least one batch in every epoch, so a share costs more than its part of the whole
    low, high = 0.0, min(recipe.epoch_fraction, 2 * recipe.epoch_fraction * limit / whole)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= limit else (low, middle)
    # where not even the least of it fits, the least
    return low or high


def within(recipe: Recipe, share: float) -> Recipe:
    """The recipe cut to this share, and measured while training on no more than some of the dev rows."""
    rows = min(EVAL_ROWS, recipe.selection.eval_rows or EVAL_ROWS)
    return replace(recipe, epoch_fraction=share, selection=replace(recipe.selection, eval_rows=rows))


def kind_of(plan: StagePlan, draw: Draw) -> Kind:
    """What decides how long a draw takes: stages that differ only in their length are the same."""
    return repr(replace(plan.stage, epochs=1)), draw


def count_kinds(plans: Sequence[StagePlan], recipe: Recipe) -> Counter[Kind]:
    """How often stages will draw which tasks."""
    counts: Counter[Kind] = Counter()
    for plan in plans:
        for epoch in range(plan.stage.epochs):
            plan.sampler.begin_epoch(epoch + 1)
            drawn = Counter(
                plan.sampler.draw() for _ in range(plan.steps_per_epoch * recipe.optimizer.gradient_accumulation_steps)
            )
            counts.update({kind_of(plan, draw): count for draw, count in drawn.items()})
    return counts


def seconds_of(counts: Counter[Kind], each: Mapping[Kind, float]) -> float:
    return sum(count * each[kind] for kind, count in counts.items())


def possible_draws(sampler: Sampler) -> list[Draw]:
    """A sampler draws all its tasks at once or, as most do, any one of them."""
    first = sampler.draw()
    return [first] if len(first) > 1 else [(task,) for task in sampler.tasks]


class Always(Sampler):
    """The same tasks in every draw."""

    def __init__(self, sizes: StageSizes, seed: int, chosen: Draw) -> None:
        super().__init__(sizes, seed)
        self.chosen = chosen

    def draw(self) -> Draw:
        return self.chosen


def time_kinds(ready: Prepared) -> dict[Kind, float]:
    """Seconds of a draw of each kind, from a few steps. The model is of no use afterwards."""
    learning, teachers = ready.setup, {}
    tried: dict[Kind, StagePlan] = {}
    for plan in learning.plans:
        stage = replace(plan.stage, epochs=1)
        for draw in possible_draws(plan.sampler):
            kind, number = kind_of(plan, draw), len(tried)
            if kind in tried:
                continue
            always = Always(plan.sampler.sizes, 0, draw)
            tried[kind] = replace(plan, number=number, stage=stage, sampler=always, steps_per_epoch=WARM + TIMED)
            if plan.number in learning.teachers:
                teachers[number] = learning.teachers[plan.number]
    seconds: list[list[float]] = [[] for _ in tried]
    last = time.perf_counter()
    for step in Loop(ready.model, replace(learning, plans=list(tried.values()), teachers=teachers)):
        seconds[step.stage].append(time.perf_counter() - last)
        last = time.perf_counter()
    draws = TIMED * ready.recipe.optimizer.gradient_accumulation_steps
    return {kind: sum(found[WARM:]) / draws for kind, found in zip(tried, seconds, strict=True)}
