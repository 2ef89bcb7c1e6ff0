"""A run's stages -> how often they draw which tasks, how much each draw costs, and what fits into a limit."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from minbert.config.recipe import Recipe
from minbert.training.stages import StagePlan, plan_stages

# bisection steps: a precision of one thousandth of the range is enough
SEARCH_STEPS = 10

# the tasks that a sampler draws at once
TaskDraw = tuple[str, ...]
# (stage settings, tasks drawn)
DrawKind = tuple[str, TaskDraw]
# what the whole training of a recipe costs: seconds, steps, examples
RecipeCost = Callable[[Recipe], float]


def largest_fraction(recipe: Recipe, cost: RecipeCost, limit: float) -> float:
    """The largest fraction of each epoch that costs no more than the limit; at most the recipe's own."""
    if cost(recipe) <= limit:
        return recipe.epoch_fraction
    low, high = bracket_fraction(recipe, cost, limit)
    # where not even the smallest fraction fits, take the smallest
    return low or high


def matching_fraction(recipe: Recipe, cost: RecipeCost, target: float) -> float:
    """The fraction of each epoch whose cost is nearest to the target; above 1, epochs are longer than the recipe's."""
    if cost(recipe) == target:
        return recipe.epoch_fraction
    around = [fraction for fraction in bracket_fraction(recipe, cost, target) if fraction]
    return min(around, key=lambda fraction: abs(cost(replace(recipe, epoch_fraction=fraction)) - target))


def bracket_fraction(recipe: Recipe, cost: RecipeCost, limit: float) -> tuple[float, float]:
    """Two near fractions, of which the first costs no more than the limit, and the second usually more."""
    # every task has at least one batch in every epoch, so a fraction costs at least its proportional part
    low, high = 0.0, 2 * recipe.epoch_fraction * limit / cost(recipe)
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        fits = cost(replace(recipe, epoch_fraction=middle)) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return low, high


def count_steps(recipe: Recipe, sizes: Mapping[str, int], lengths: Mapping[str, int]) -> int:
    """The optimizer steps of all stages. `sizes`: training rows of each task; `lengths`: its maximum tokens."""
    return sum(plan.steps for plan in plan_stages(recipe, sizes, lengths))


def count_examples(recipe: Recipe, sizes: Mapping[str, int], lengths: Mapping[str, int]) -> int:
    """The training rows that all stages draw; samplers that follow the scores are counted as they start."""
    taken, drawn = dict.fromkeys(sizes, 0), 0
    for plan, counts in epoch_draws(plan_stages(recipe, sizes, lengths), recipe):
        batches = Counter[str]()
        for draw, count in counts.items():
            batches.update(dict.fromkeys(draw, count))
        for task, count in batches.items():
            rows = rows_of_batches(sizes[task], plan.batch_sizes[task], taken[task] % sizes[task], count)
            taken[task] += rows
            drawn += rows
    return drawn


def rows_of_batches(rows: int, batch_size: int, position: int, batches: int) -> int:
    """The rows of the next batches of a task, after `position` rows of a pass. The last batch of a pass is smaller."""
    to_end = -(-(rows - position) // batch_size)
    if batches < to_end:
        return batches * batch_size
    passes, more = divmod(batches - to_end, -(-rows // batch_size))
    return rows - position + passes * rows + more * batch_size


def training_seconds(
    recipe: Recipe, sizes: Mapping[str, int], lengths: Mapping[str, int], seconds_per_draw: Mapping[DrawKind, float]
) -> float:
    """The duration of all stages."""
    return draw_seconds(count_draws(plan_stages(recipe, sizes, lengths), recipe), seconds_per_draw)


def draw_kind(plan: StagePlan, draw: TaskDraw) -> DrawKind:
    """What decides how long a draw takes: stages that differ only in their length are the same."""
    return repr(replace(plan.stage, epochs=1)), draw


def count_draws(plans: Sequence[StagePlan], recipe: Recipe) -> Counter[DrawKind]:
    """How often the stages will draw which tasks."""
    counts: Counter[DrawKind] = Counter()
    for plan, drawn in epoch_draws(plans, recipe):
        counts.update({draw_kind(plan, draw): count for draw, count in drawn.items()})
    return counts


def epoch_draws(plans: Sequence[StagePlan], recipe: Recipe) -> Iterator[tuple[StagePlan, Counter[TaskDraw]]]:
    """What each epoch of each stage will draw."""
    for plan in plans:
        for epoch in range(plan.stage.epochs):
            plan.sampler.begin_epoch(epoch + 1)
            draws = plan.steps_per_epoch * recipe.optimizer.gradient_accumulation_steps
            yield plan, Counter(plan.sampler.draw() for _ in range(draws))


def draw_seconds(counts: Counter[DrawKind], seconds_per_draw: Mapping[DrawKind, float]) -> float:
    def cost(kind: DrawKind) -> float:
        stage, draw = kind
        # some of the tasks at once take as long as each of them alone
        return seconds_per_draw[kind] if kind in seconds_per_draw else sum(cost((stage, (task,))) for task in draw)

    return sum(count * cost(kind) for kind, count in counts.items())
