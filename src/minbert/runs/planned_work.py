"""A prepared run -> how much work its steps and evaluations are, in tokens that are passed through the encoder once."""

from collections.abc import Mapping

from minbert.runs.scoring import CALIBRATION_ROWS
from minbert.runs.work import PlannedWork, StageWork
from minbert.training.draw_costs import count_draws
from minbert.training.prepare import Prepared, Split
from minbert.training.stages import StagePlan, plan_stages

# a backward pass takes twice as long as the forward pass: for the gradients of the weights, and of their inputs
BACKWARD = 2


def plan_work(ready: Prepared, limit: float | None = None) -> PlannedWork:
    recipe, model = ready.recipe, ready.model
    sizes = {name: len(split.dataset) for name, split in ready.train.items()}
    # samplers of their own: those of the run must not draw
    plans = plan_stages(recipe, sizes, {name: model.task(name).max_length for name in ready.train})
    scored = {name: split for name, split in ready.dev.items() if model.task(name).loss.predicts}
    rows = recipe.selection.eval_rows
    evaluation = row_tokens(scored, rows)
    if any(plan.sampler.wants_scores for plan in plans):
        evaluation += row_tokens({name: ready.train[name] for name in scored}, rows)
    cosines = recipe.selection.gradient_cosine_rows
    evaluation += (1 + BACKWARD) * row_tokens(ready.train, cosines) if cosines else 0
    classified = {name: split for name, split in scored.items() if ready.tasks[name].kind == "classify"}
    final = row_tokens(classified, CALIBRATION_ROWS) + row_tokens(scored) + row_tokens(ready.test)
    stages = tuple(
        StageWork(plan.stage.epochs, plan.steps_per_epoch, tokens_per_step(ready, plan) * forward_passes(ready, plan))
        for plan in plans
    )
    return PlannedWork(stages, evaluation, final, limit)


def row_tokens(splits: Mapping[str, Split], rows: int | None = None) -> float:
    """Of so many rows of each task, or of all."""
    return sum(
        min(len(split.encoded), rows or len(split.encoded)) * float(split.encoded.tokens.mean())
        for split in splits.values()
        if len(split.encoded)
    )


def tokens_per_step(ready: Prepared, plan: StagePlan) -> float:
    tokens = 0.0
    for (_, draw), count in count_draws([plan], ready.recipe).items():
        for name in draw:
            encoded = ready.train[name].encoded
            length = encoded.tokens.clip(max=plan.max_lengths[name] * len(encoded.parts)).mean()
            tokens += count * min(plan.batch_sizes[name], len(encoded)) * float(length)
    return tokens / plan.steps


def forward_passes(ready: Prepared, plan: StagePlan) -> float:
    """How many forward passes a step costs."""
    which, model = plan.stage.trainable, ready.model
    if which == "all":
        return 1 + BACKWARD
    if which.startswith("top "):
        return 1 + BACKWARD * int(which.removeprefix("top ")) / len(model.bert.layers)
    # the gradients of adapters pass through the frozen encoder
    adapters = which == "heads and adapters" and any(len(task.adapters) for task in model.tasks.values())
    return 1 + BACKWARD / 2 if adapters else 1
