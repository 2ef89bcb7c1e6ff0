"""Soft parameter sharing: its penalty by hand, what it does to the tasks' own layers, and whole runs with them."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from minbert.config.recipe import TaskPlan
from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task
from minbert.data.batch import Batch, collate, encode_texts
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.errors import UserError
from minbert.inference.saved_model import load_model, save_model
from minbert.model.adapters.own_layers import own_layers_of
from minbert.model.multitask import Model
from minbert.runs.events import Stopped
from minbert.runs.run import resume_run, start_run
from minbert.training.loop import Loop
from minbert.training.prepare import outline, prepare
from minbert.training.regularizers import REGULARIZERS
from tests.faults.hashes import run_hash
from tests.tiny import one_head_bert, tiny_bert, tiny_config, tiny_tokenizer
from tests.workbench import demo_recipe, run_all

TASK = Task("one", Path(), kind="classify", text=("a",), label="c", labels=(0, 1))
NAMES = ("one", "two", "three")
NOTHING = torch.zeros(())
SHARED = ('defaults.adapters=["own_layers"]', 'defaults.regularizers=[{name = "soft_sharing", weight = 0.1}]')


def model_of(bert: Bert, **layers: int | None) -> Model:
    """Tasks with copies of so many layers; 0: without any."""
    plans = {
        name: TaskPlan(adapters=({"name": "own_layers"} | ({"layers": n} if n else {}),) if n != 0 else ())
        for name, n in layers.items()
    }
    return Model(bert, {name: replace(TASK, name=name) for name in layers}, plans, "test")


def make(model: Model, task: str, **settings: Any) -> Any:
    spec: Spec = {"name": "soft_sharing", **settings}
    return build_technique("regularizer", REGULARIZERS, spec, f"x.toml: task '{task}'", model, task, 0)


def fill(module: nn.Module, value: float) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(value)


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def penalty(regularizer: Any) -> Tensor:
    found = regularizer.penalty(None, NOTHING, NOTHING)
    assert isinstance(found, Tensor)
    return found


def distance(model: Model, one: str, other: str) -> float:
    pairs = zip(model.task(one).adapters.parameters(), model.task(other).adapters.parameters(), strict=True)
    return sum((a - b).detach().double().square().sum().item() for a, b in pairs) ** 0.5


# ---- the penalty ----------------------------------------------------------------------------------------


def test_the_penalty_by_hand() -> None:
    """A layer of width 2 and 4 hidden units: 4 (2^2 + 2) + 2 * 8 + 4 + 2 for its matrices, 2 * 4 for its norms.

    All of one's copy is 1, of two's 3 and of three's 0: with weight .5, each parameter adds .25 * (2^2 + 1^2).
    """
    model = model_of(one_head_bert(), one=None, two=None, three=None)
    for name, value in zip(NAMES, (1.0, 3.0, 0.0), strict=True):
        fill(model.task(name).adapters, value)
    numbers = count(model.bert.layers[0])
    assert numbers == 24 + 22 + 8
    found = penalty(make(model, "one", weight=0.5))
    assert found.item() == 0.25 * (4 + 1) * numbers
    found.backward()
    # d/d theta_1 = .5 ((1 - 3) + (1 - 0)), and the opposite of its terms for the others
    for name, slope in zip(NAMES, (-0.5, 1.0, -0.5), strict=True):
        own = list(model.task(name).adapters.parameters())
        assert all(torch.equal(each.grad, torch.full_like(each, slope)) for each in own)
    assert all(each.grad is None for each in model.bert.parameters())
    assert all(each.grad is None for name in NAMES for each in model.task(name).head.parameters())


def test_a_step_down_the_penalty_brings_both_copies_closer_by_the_same() -> None:
    model = model_of(one_head_bert(), one=None, two=None)
    fill(model.task("one").adapters, 1.0)
    fill(model.task("two").adapters, 3.0)
    penalty(make(model, "one", weight=0.5)).backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    for name, value in (("one", 1.1), ("two", 2.9)):
        own = list(model.task(name).adapters.parameters())
        assert all(torch.allclose(each, torch.tensor(value)) for each in own)


def test_only_layers_that_both_tasks_have_count() -> None:
    """Of three layers one has all, two the last two and three the last: two pairs with two, one with three."""
    model = model_of(one_head_bert(layers=3), one=None, two=2, three=1)
    for name, value in zip(NAMES, (1.0, 2.0, 4.0), strict=True):
        fill(model.task(name).adapters, value)
    numbers = count(model.bert.layers[0])
    expected = {"one": 2 * 1 + 9, "two": 2 * 1 + 4, "three": 9 + 4}
    for name, squares in expected.items():
        assert penalty(make(model, name, weight=2.0)).item() == squares * numbers
    # not the layer's place in the copy but its number in the encoder
    fill(own_layers_of(model.task("one").adapters)[0], 100.0)
    assert penalty(make(model, "one", weight=2.0)).item() == expected["one"] * numbers


def test_copies_that_are_still_the_same_have_no_penalty_and_those_without_a_copy_take_no_part() -> None:
    model = model_of(tiny_bert(), one=None, two=None, three=0)
    found = penalty(make(model, "one"))
    assert found.item() == 0
    found.backward()
    assert all(not each.grad.any() for each in model.task("one").adapters.parameters())
    assert all(each.grad is None for each in model.task("three").parameters())


def test_frozen_copies_are_not_pulled() -> None:
    model = model_of(tiny_bert(), one=None, two=None)
    regularizer = make(model, "one")
    for which, pulled in (("all", True), ("heads and adapters", True), ("top 1", True), ("heads", False)):
        model.set_trainable(which)
        assert (regularizer.penalty(None, NOTHING, NOTHING) is not None) == pulled


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ({"one": 0, "two": None}, "this task has no layers of its own: give it the adapter 'own_layers'"),
        ({"one": None, "two": 0}, "no other task has layers of its own: give another task the adapter 'own_layers'"),
    ],
)
def test_a_task_with_nothing_to_compare_is_refused(layers: dict[str, int | None], reason: str) -> None:
    with pytest.raises(UserError, match=f"x.toml: task 'one': regularizer 'soft_sharing': {reason}"):
        make(model_of(one_head_bert(), **layers), "one")


def test_a_task_that_is_trained_alone_has_no_penalty() -> None:
    assert make(model_of(one_head_bert(), one=1), "one").penalty(None, NOTHING, NOTHING) is None


def test_a_recipe_is_refused_before_its_data_is_read(tiny: Path) -> None:
    recipe = demo_recipe(tiny, 'tasks.sentiment.regularizers=["soft_sharing"]', 'tasks.similarity.adapters=["lora"]')
    with pytest.raises(UserError, match="task 'sentiment': regularizer 'soft_sharing': this task has no layers"):
        outline(recipe, recipe.read_tasks(), tiny_config())


# ---- training -------------------------------------------------------------------------------------------


def after_training(tiny: Path, *overrides: str, steps: int = 40) -> Model:
    ready = prepare(demo_recipe(tiny, *overrides, "precision=fp32", steps=steps))
    for _ in Loop(ready.model, ready.setup):
        pass
    return ready.model


@pytest.mark.parametrize("balancer", ["sum", "pcgrad"])
def test_a_large_weight_keeps_the_copies_together_while_they_learn(balancer: str, tiny: Path) -> None:
    sampler = ["stages.0.sampler=at_once", f"balancer={balancer}"]
    apart = after_training(tiny, SHARED[0], *sampler)
    close = after_training(tiny, SHARED[0], 'defaults.regularizers=[{name = "soft_sharing", weight = 100}]', *sampler)
    start = prepare(demo_recipe(tiny, SHARED[0], "precision=fp32")).model
    for one, other in (("sentiment", "paraphrase"), ("paraphrase", "similarity"), ("sentiment", "similarity")):
        assert distance(start, one, other) == 0
        assert 0 < distance(close, one, other) < distance(apart, one, other) / 2
    moved = own_layers_of(close.task("sentiment").adapters)[0].get_parameter("inner.weight")
    assert not torch.allclose(moved, start.bert.layers[0].get_parameter("inner.weight"), atol=1e-4)
    # no task uses the layers that all replaced: nothing changes them, not even weight decay
    for one, other in zip(start.bert.layers.parameters(), close.bert.layers.parameters(), strict=True):
        assert torch.equal(one, other)


def test_only_own_layers_and_heads_learn_with_a_frozen_encoder(tiny: Path) -> None:
    model = after_training(tiny, *SHARED, 'stages.0.trainable="heads and adapters"', steps=6)
    start = prepare(demo_recipe(tiny, *SHARED)).model
    same = {name for name, each in model.named_parameters() if torch.equal(each, start.get_parameter(name))}
    assert same == {name for name, _ in model.named_parameters() if name.startswith("bert.")}


def asked_after(looks: int) -> Callable[[], int | None]:
    left = iter(range(looks))
    return lambda: None if next(left, None) is not None else signal.SIGTERM


EVERYTHING = (
    *SHARED,
    'tasks.similarity.adapters=[{name = "own_layers", layers = 1}, "lhuc"]',
    'tasks.paraphrase.regularizers=["soft_sharing", {name = "smart", bregman = 1.0}, "mixout", "towards_start"]',
    'weight_averaging={name = "ema", decay = 0.5}',
    "balancer=gradnorm",
    "stages.0.sampler=at_once",
    "selection.eval_rows=12",
)


def test_a_run_is_resumed_saved_loaded_and_predicts(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, *EVERYTHING, epochs=2, steps=2)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    _, finished = run_all(recipe, whole)
    with pytest.raises(Stopped):
        list(start_run(recipe, parts, controls=False, stop_requested=asked_after(1)))
    with pytest.raises(Stopped):
        list(resume_run(parts, stop_requested=asked_after(3)))
    list(resume_run(parts))
    assert run_hash(parts) == run_hash(whole)
    model, tokenizer = load_model(whole, "fp32")
    assert [len(own_layers_of(model.task(name).adapters)) for name in ("sentiment", "similarity")] == [2, 1]
    assert distance(model, "sentiment", "paraphrase") > 0
    save_model(tmp_path / "again" / "model", model, tokenizer)
    again, _ = load_model(tmp_path / "again", "fp32")
    assert all(torch.equal(each, again.state_dict()[key]) for key, each in model.state_dict().items())
    assert set(finished.scores) >= {"sentiment", "paraphrase", "similarity"}


# ---- the model ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return tiny_tokenizer(tmp_path_factory.mktemp("text"))


def batch_of(model: Model, task: str, tokenizer: Tokenizer) -> Batch:
    texts = ["a good film", "the dog runs in the water", "no"]
    encoded = encode_texts(tokenizer, [texts], model.task(task).layout, 32)
    return collate(task, encoded, np.array([0, 1, 1]), np.arange(3))


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("adapters", [(), ("own_layers",), ("lhuc",)])
def test_the_work_of_a_pass_is_counted_as_it_is_done(
    adapters: tuple[str, ...], pooling: str, tokenizer: Tokenizer
) -> None:
    """Without adapters only [CLS] is computed in the last layer if nothing else is read; with adapters, everything."""
    plan = TaskPlan(adapters=adapters, pooling=pooling)
    model = Model(tiny_bert(), {"one": TASK}, {"one": plan}, "test").eval()
    batch = batch_of(model, "one", tokenizer)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(batch)
    head = 2 * 3 * 32 * 2
    # attention works on blocks of similar length, with some padding
    needed = model.forward_flops(batch) + head
    assert needed <= counter.get_total_flops() < 1.03 * needed


def test_a_task_without_own_layers_does_not_see_those_of_others(tokenizer: Tokenizer) -> None:
    model = model_of(tiny_bert(), one=None, two=0).eval()
    before = [model.predict(batch_of(model, name, tokenizer)) for name in ("one", "two")]
    with torch.no_grad():
        for parameter in model.task("one").adapters.parameters():
            parameter.add_(0.5)
    after = [model.predict(batch_of(model, name, tokenizer)) for name in ("one", "two")]
    assert not torch.allclose(before[0], after[0], atol=1e-3) and torch.equal(before[1], after[1])
