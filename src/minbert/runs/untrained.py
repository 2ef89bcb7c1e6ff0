"""(a prepared run, fits of linear heads) -> the untrained backbone with these heads, as a model that a run may keep.

The untrained backbone is a candidate like the model after any epoch, so a run never keeps a model that is worse than it
on the rows that choose.
"""

from collections.abc import Mapping
from dataclasses import replace

from minbert.config.recipe import Recipe, TaskPlan
from minbert.config.task import Task
from minbert.encoder.bert import Bert
from minbert.encoder.init import seeded_init
from minbert.inference.loop import encode_for_task
from minbert.model.multitask import Model
from minbert.training.linear_probe import set_head, starts_at_probe
from minbert.training.prepare import Prepared, Split
from minbert.training.probe_fit import LinearFit

CONTROL_PLAN = TaskPlan(
    pairing="bi_encoder", pooling="mean", head={"name": "linear", "dropout": 0.0, "features": ["|u-v|", "u*v", "cos"]}
)


def probe_model(bert: Bert, tasks: Mapping[str, Task], recipe: Recipe) -> Model:
    """An encoder below new linear heads, whose weights are still to be fitted."""
    plans = {name: replace(CONTROL_PLAN, max_length=recipe.tasks[name].max_length) for name in tasks}
    # the weights are replaced, but drawing them uses random numbers
    with seeded_init(0):
        return Model(bert, dict(tasks), plans, "the untrained probe")


def untrained_model(ready: Prepared, fits: Mapping[str, LinearFit]) -> Model | None:
    """None if the run's own model starts as the same model, or if some task has no fit."""
    if fits.keys() != ready.tasks.keys() or all(starts_at_probe(ready.model, name) for name in ready.tasks):
        return None
    model = probe_model(ready.model.bert, ready.tasks, ready.recipe).to(ready.model.device)
    for name, fit in fits.items():
        set_head(model.task(name).head, fit)
    return model


def splits_for(model: Model, ready: Prepared, splits: Mapping[str, Split]) -> dict[str, Split]:
    """The splits of a run, encoded for a model that may read pairs in another way than the run's own."""

    def encoded(name: str, split: Split) -> Split:
        if model.task(name).layout == ready.model.task(name).layout:
            return split
        return Split(split.dataset, encode_for_task(model, name, ready.tokenizer, split.dataset.texts))

    return {name: encoded(name, split) for name, split in splits.items()}
