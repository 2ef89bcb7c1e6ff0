"""(recipe, time or steps) -> the fraction of each epoch that fits into that budget on this machine."""

import math
from dataclasses import dataclass, field, replace

from minbert.comparison.results import TIMED, WHOLE
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import read_config
from minbert.errors import UserError
from minbert.training.auto import choose_settings
from minbert.training.draw_costs import largest_fraction, time_draws, training_cost
from minbert.training.prepare import prepare, read_data

# dev rows per task that are scored after an epoch, at most and at least, and for each second of the budget: scoring
# should not take longer than training
EVAL_ROWS, FEWEST_EVAL_ROWS, EVAL_ROWS_PER_SECOND = 500, 50, 5


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
    """What a trial may cost: seconds of training, or steps; neither means whole recipes."""

    seconds: float | None = None
    steps: int | None = None
    # whether BudgetTooShort is raised; otherwise the shortest version is trained
    strict: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        if self.steps is not None:
            return f"{self.steps:,} steps per training run"
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
        )

    @property
    def eval_rows(self) -> int:
        """Dev rows per task that are scored after an epoch."""
        if self.seconds is None:
            return EVAL_ROWS
        return min(EVAL_ROWS, max(FEWEST_EVAL_ROWS, round(self.seconds * EVAL_ROWS_PER_SECOND)))

    def epoch_fraction_of(self, recipe: Recipe, source: DataSource) -> float:
        """The fraction of each epoch of a recipe that fits into this budget, measured here."""
        if self.steps is not None:
            return fraction_for_steps(recipe, self.steps, source)
        if self.seconds is not None:
            return fraction_for_seconds(recipe, self.seconds, source, self.strict)
        return recipe.epoch_fraction


def fraction_for_seconds(
    recipe: Recipe, seconds: float, source: DataSource = DEFAULT_SOURCE, strict: bool = False
) -> float:
    """The fraction of each epoch that can be trained in this time, not counting reading and scoring."""
    ready = prepare(recipe, source)
    recipe = ready.recipe
    seconds_per_draw = time_draws(ready)
    sizes = {name: len(split.dataset) for name, split in ready.train.items()}
    lengths = {name: ready.model.task(name).max_length for name in ready.train}
    least = training_cost(replace(recipe, epoch_fraction=1e-9), sizes, lengths, seconds_per_draw)
    if strict and least > seconds:
        raise BudgetTooShort(least)
    return largest_fraction(recipe, sizes, lengths, seconds, seconds_per_draw)


def fraction_for_steps(recipe: Recipe, steps: int, source: DataSource = DEFAULT_SOURCE) -> float:
    """The fraction of each epoch that this many optimizer steps train."""
    tasks, train, _ = read_data(recipe, source)
    sizes = {name: len(dataset) for name, dataset in train.items()}
    recipe = choose_settings(recipe, tasks, read_config(find_backbone(recipe.backbone))[0], sizes)
    lengths = {name: recipe.tasks[name].max_length or task.most_tokens for name, task in tasks.items()}
    return largest_fraction(recipe, sizes, lengths, steps * recipe.optimizer.gradient_accumulation_steps)


def shortened(recipe: Recipe, epoch_fraction: float, eval_rows: int = EVAL_ROWS) -> Recipe:
    """The recipe with this fraction of each epoch, scored during training on at most `eval_rows` dev rows per task."""
    rows = min(eval_rows, recipe.selection.eval_rows or eval_rows)
    return replace(recipe, epoch_fraction=epoch_fraction, selection=replace(recipe.selection, eval_rows=rows))
