"""(recipe; examples, steps or time) -> the fraction of each epoch that fits into that budget."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from minbert.comparison.results import TIMED, WHOLE
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import read_config
from minbert.errors import UserError
from minbert.training.auto import choose_settings
from minbert.training.draw_costs import (
    DrawKind,
    RecipeCost,
    count_examples,
    count_steps,
    largest_fraction,
    matching_fraction,
    training_seconds,
)
from minbert.training.draw_timing import time_draws
from minbert.training.prepare import Prepared, prepare, read_data

# rows per task that are scored after an epoch, at most and at least, and for each second of the budget; and examples
# of a budget for each of them above EVAL_ROWS: scoring should not take longer than training
EVAL_ROWS, FEWEST_EVAL_ROWS, EVAL_ROWS_PER_SECOND, EXAMPLES_PER_EVAL_ROW = 500, 50, 5, 20


class BudgetTooShort(UserError):
    """Even the shortest version of a recipe takes longer than its budget."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: what the shortest version takes."""
        super().__init__(f"one batch of each task in each epoch takes about {math.ceil(seconds)} s of training.")
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[UserError], tuple[float]]:
        return BudgetTooShort, (self.seconds,)


@dataclass(frozen=True)
class Budget:
    """What a trial may cost: seconds of training, steps, or examples; none of them means whole recipes."""

    seconds: float | None = None
    steps: int | None = None
    # training rows that are drawn
    examples: int | None = None
    # whether BudgetTooShort is raised; otherwise the shortest version is trained
    strict: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        if self.steps is not None:
            return f"{self.steps:,} steps per training run"
        if self.examples is not None:
            return f"{self.examples:,} training examples per training run"
        if self.seconds is None:
            return WHOLE
        minutes = f"{self.seconds / 60:g} minutes" if self.seconds >= 120 else f"{self.seconds:g} seconds"
        return f"{minutes} {TIMED}"

    def scaled(self, fraction: float) -> "Budget":
        """For a recipe that trains only some of the tasks."""
        return replace(
            self,
            seconds=None if self.seconds is None else self.seconds * fraction,
            steps=None if self.steps is None else max(1, round(self.steps * fraction)),
            examples=None if self.examples is None else max(1, round(self.examples * fraction)),
        )

    @property
    def eval_rows(self) -> int:
        """Rows per task that are scored after an epoch, of those that choose the model."""
        if self.examples is not None:
            return max(EVAL_ROWS, self.examples // EXAMPLES_PER_EVAL_ROW)
        if self.seconds is None:
            return EVAL_ROWS
        return min(EVAL_ROWS, max(FEWEST_EVAL_ROWS, round(self.seconds * EVAL_ROWS_PER_SECOND)))

    def epoch_fraction_of(self, recipe: Recipe, source: DataSource) -> float:
        """The fraction of each epoch of a recipe that fits into this budget, measured here."""
        if self.steps is not None:
            return fraction_for_steps(recipe, self.steps, source)
        if self.examples is not None:
            return fraction_for_examples(recipe, self.examples, source)
        if self.seconds is not None:
            ready = prepare(recipe, source)
            (seconds_per_draw,) = time_draws([ready])
            return self.fraction_in_time(ready, seconds_per_draw)
        return recipe.epoch_fraction

    def fraction_in_time(self, ready: Prepared, seconds_per_draw: Mapping[DrawKind, float]) -> float:
        """The fraction of each epoch that fits into the seconds, not counting reading and scoring."""
        assert self.seconds is not None
        sizes = {name: len(split.dataset) for name, split in ready.train.items()}
        lengths = {name: ready.model.task(name).max_length for name in ready.train}

        def cost(each: Recipe) -> float:
            return training_seconds(each, sizes, lengths, seconds_per_draw)

        least = cost(replace(ready.recipe, epoch_fraction=1e-9))
        if self.strict and least > self.seconds:
            raise BudgetTooShort(least)
        return largest_fraction(ready.recipe, cost, self.seconds)


def fraction_for_steps(recipe: Recipe, steps: int, source: DataSource = DEFAULT_SOURCE) -> float:
    """The fraction of each epoch that this many optimizer steps train."""
    recipe, count = planned_with(recipe, source, count_steps)
    return largest_fraction(recipe, count, steps)


def fraction_for_examples(recipe: Recipe, examples: int, source: DataSource = DEFAULT_SOURCE) -> float:
    """The fraction of each epoch in which a recipe reads about this many examples: also above 1, for equal data."""
    recipe, count = planned_with(recipe, source, count_examples)
    return matching_fraction(recipe, count, examples)


def examples_read(recipe: Recipe, source: DataSource = DEFAULT_SOURCE) -> int:
    """The training examples that the whole training of a recipe reads."""
    recipe, count = planned_with(recipe, source, count_examples)
    return int(count(recipe))


def planned_with(
    recipe: Recipe, source: DataSource, count: Callable[[Recipe, Mapping[str, int], Mapping[str, int]], int]
) -> tuple[Recipe, RecipeCost]:
    """The recipe with its settings chosen for its data, and what is counted of it. Needs no model."""
    data = read_data(recipe, source)
    sizes = {name: len(rows) for name, rows in data.train.items()}
    recipe = choose_settings(recipe, data.tasks, read_config(find_backbone(recipe.backbone))[0], sizes)
    lengths = {name: recipe.tasks[name].max_length or task.most_tokens for name, task in data.tasks.items()}
    return recipe, lambda each: count(each, sizes, lengths)


def shortened(recipe: Recipe, epoch_fraction: float, eval_rows: int = EVAL_ROWS) -> Recipe:
    """The recipe with this fraction of each epoch, scored during training on at most `eval_rows` rows per task."""
    rows = min(eval_rows, recipe.selection.eval_rows or eval_rows)
    return replace(recipe, epoch_fraction=epoch_fraction, selection=replace(recipe.selection, eval_rows=rows))
