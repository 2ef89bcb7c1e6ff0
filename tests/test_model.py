"""One encoder, each task's own parts: what is free, what is shared, and both orders of a pair."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from minbert.config.recipe import SharedLayerPlan, Stage, TaskPlan
from minbert.config.schema import Spec
from minbert.config.task import Task
from minbert.data.batch import collate, encode_texts
from minbert.errors import UserError
from minbert.inference.saved_model import load_model, save_model
from minbert.model.multitask import Model
from minbert.model.shared_layers import SharedLayer
from tests.tiny import tiny_bert, tiny_tokenizer

TASKS = {
    "mood": Task("mood", Path(), kind="classify", text=("a",), label="c", labels=(0, 1, 2)),
    "same": Task("same", Path(), kind="classify", text=("a", "b"), label="c", labels=(0, 1)),
    "alike": Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0)),
}
TEXTS = (["a good film", "the dog runs in the water", "no"], ["what is it ?", "two dogs", "yes it is very good"])


def model_of(**plans: TaskPlan) -> Model:
    torch.manual_seed(0)
    return Model(tiny_bert(), {name: TASKS[name] for name in plans}, plans, "test")


def answers(model: Model, name: str, folder: Path, texts: tuple[list[str], ...] = TEXTS) -> torch.Tensor:
    tokenizer = tiny_tokenizer(folder)
    sequences = encode_texts(tokenizer, texts[: len(TASKS[name].text)], model.task(name).layout, 32)
    with torch.no_grad():
        return model.eval()(collate(name, sequences, None, np.arange(3)))


@pytest.mark.parametrize("pairing", ["cross_encoder", "bi_encoder", "combined", "cross_attention", "task_attention"])
def test_a_symmetric_pair_is_the_mean_of_both_orders(pairing: str, tmp_path: Path) -> None:
    one_way = model_of(alike=TaskPlan(pairing=pairing))
    both_ways = model_of(alike=TaskPlan(pairing=pairing, symmetric=True))
    both_ways.load_state_dict(one_way.state_dict())
    there, back = answers(one_way, "alike", tmp_path), answers(one_way, "alike", tmp_path, TEXTS[::-1])
    assert not torch.allclose(there, back, atol=0, rtol=1e-6)
    torch.testing.assert_close(answers(both_ways, "alike", tmp_path), (there + back) / 2, atol=1e-5, rtol=1e-4)
    turned = answers(both_ways, "alike", tmp_path, TEXTS[::-1])
    torch.testing.assert_close(answers(both_ways, "alike", tmp_path), turned, atol=1e-5, rtol=1e-4)


def test_only_pairs_can_be_symmetric() -> None:
    with pytest.raises(UserError, match="task 'mood': only tasks with text pairs can be symmetric"):
        model_of(mood=TaskPlan(symmetric=True))


def test_tasks_that_write_the_same_name_share_a_layer(tmp_path: Path) -> None:
    model = model_of(
        mood=TaskPlan(),
        same=TaskPlan(shared_layer="pairs"),
        alike=TaskPlan(shared_layer="pairs", pairing="bi_encoder", head="linear"),
    )
    counts = model.counts()
    assert counts["shared pairs"] == 32 * 32 + 32
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    before = {name: answers(model, name, tmp_path) for name in TASKS}
    with torch.no_grad():
        model.shared["shared_pairs"].linear.weight.mul_(2)
    after = {name: answers(model, name, tmp_path) for name in TASKS}
    assert [torch.equal(before[name], after[name]) for name in TASKS] == [True, False, False]


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_shared_layer_may_make_one_vector_of_the_two_of_a_pair(symmetric: bool, tmp_path: Path) -> None:
    """Report A: ReLU(Dropout(W [u, v] + b)), then a head for one vector."""
    layer = SharedLayerPlan(name="pairs", vectors="concatenated", dropout_place="after", dropout=0.3)
    plan = TaskPlan(pairing="bi_encoder", shared_layer=layer, symmetric=symmetric)
    model = model_of(same=plan, alike=plan)
    assert model.counts()["shared pairs"] == 2 * 32 * 32 + 32
    # the head reads one vector
    assert model.counts()["alike"] == 32 + 1
    apart = model_of(alike=TaskPlan(pairing="bi_encoder", head="linear"))
    apart.bert.load_state_dict(model.bert.state_dict())
    sequences = encode_texts(tiny_tokenizer(tmp_path), TEXTS, "bi_encoder", 32).pack(np.arange(3))
    u, v = apart.eval().task("alike").pooling(apart.bert(sequences), sequences).chunk(2)
    shared, head = model.shared["shared_pairs"].linear, model.task("alike").head
    orders = [(u, v), (v, u)] if symmetric else [(u, v)]
    expected = torch.stack([head.eval()(shared(torch.cat(each, 1)).relu()) for each in orders]).mean(0)
    assert torch.allclose(answers(model, "alike", tmp_path), expected, atol=1e-6)


def test_the_dropout_of_a_shared_layer_is_before_or_after_its_linear_layer() -> None:
    bert = tiny_bert()
    layers = [
        SharedLayer(bert, SharedLayerPlan(name="x", dropout=0.5, dropout_place=place)) for place in ("before", "after")
    ]
    for layer in layers:
        torch.nn.init.zeros_(layer.linear.weight)
        torch.nn.init.ones_(layer.linear.bias)
    before, after = (layer(torch.ones(50, 32)) for layer in layers)
    # W drop(x) + 1 = 1, drop(W x + 1) = 0 or 2
    assert (before == 1).all() and set(after.unique().tolist()) == {0.0, 2.0}


def test_a_layer_of_two_vectors_needs_two() -> None:
    with pytest.raises(UserError, match="concatenates two vectors, but there is only one per example"):
        model_of(same=TaskPlan(shared_layer=SharedLayerPlan(name="x", vectors="concatenated")))


def test_a_frozen_encoder_drops_nothing_out_unless_the_stage_says_so() -> None:
    model = model_of(same=TaskPlan())
    for trainable, frozen_dropout, drops in (("all", False, True), ("heads", False, False), ("heads", True, True)):
        model.set_trainable(trainable, frozen_dropout)
        model.train()
        assert {layer.dropout.training for layer in model.bert.layers} == {drops}
        assert model.task("same").head.training


MEET = {"name": "cross_attention", "shared": "meet", "heads": 2}


def crossed(**settings: Any) -> TaskPlan:
    return TaskPlan(pairing={**MEET, **settings}, pooling="attention")


def loss_of(model: Model, name: str, folder: Path) -> torch.Tensor:
    sequences = encode_texts(tiny_tokenizer(folder), TEXTS[: len(TASKS[name].text)], model.task(name).layout, 32)
    labels = np.array([0, 1, 1]) if TASKS[name].kind == "classify" else np.array([0.5, 2.0, 5.0])
    return model.train().loss(collate(name, sequences, labels, np.arange(3)))


def test_tasks_that_write_the_same_name_share_a_pairing(tmp_path: Path) -> None:
    """A single text has no partner to attend to, so it does not take part."""
    model = model_of(mood=TaskPlan(pairing=MEET), same=crossed(), alike=crossed())
    counts, own = model.counts(), model_of(same=TaskPlan(pairing="bi_encoder", pooling="attention")).counts()
    assert counts["shared meet"] == 4 * (32 * 32 + 32)
    assert counts["same"] == own["same"]
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    before = {name: answers(model, name, tmp_path) for name in TASKS}
    with torch.no_grad():
        model.shared["shared_meet"].output.weight.mul_(2)
    after = {name: answers(model, name, tmp_path) for name in TASKS}
    assert [torch.equal(before[name], after[name]) for name in TASKS] == [True, False, False]


def test_a_shared_pairing_answers_as_an_own_one_with_its_weights_does(tmp_path: Path) -> None:
    own = model_of(same=crossed(shared=""))
    shared = model_of(same=crossed())
    state = own.state_dict()
    moved = {key.replace("parts.task_same.pairing.", "shared.shared_meet."): value for key, value in state.items()}
    shared.load_state_dict(moved)
    assert torch.equal(answers(own, "same", tmp_path), answers(shared, "same", tmp_path))


def test_both_tasks_teach_what_they_share(tmp_path: Path) -> None:
    model = model_of(same=crossed(), alike=crossed())
    weight = model.shared["shared_meet"].output.weight
    gradients = []
    for name in ("same", "alike"):
        model.zero_grad()
        loss_of(model, name, tmp_path).backward()
        gradients.append(weight.grad.clone())
    assert gradients[0].any() and gradients[1].any() and not torch.equal(*gradients)
    model.set_trainable("heads")
    assert weight.requires_grad
    assert model.task("same").shared_modules == model.task("alike").shared_modules == (model.shared["shared_meet"],)


def test_what_is_shared_is_one_tensor_after_saving_and_loading(tmp_path: Path) -> None:
    model = model_of(same=crossed(), alike=TaskPlan(pairing=MEET, pooling="attention", shared_layer="pairs"))
    save_model(tmp_path / "model", model, tiny_tokenizer(tmp_path / "text"))
    saved = load_file(tmp_path / "model" / "tasks.safetensors")
    assert [key for key in saved if "attention.query.weight" in key] == ["shared/shared_meet.attention.query.weight"]
    again, _ = load_model(tmp_path, "fp32")
    for name in ("same", "alike"):
        assert torch.equal(answers(again, name, tmp_path), answers(model, name, tmp_path))
        assert again.task(name).shared_modules[-1] is again.shared["shared_meet"]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (
            crossed(heads=4),
            "is cross_attention (heads = 4, dropout = 0.3, residual = False) here, "
            "but cross_attention (heads = 2, dropout = 0.3, residual = False) in task 'same'",
        ),
        (
            TaskPlan(shared_layer="meet"),
            "is a layer before the head (dropout = 0.1, dropout_place = before, vectors = each) here, but cross_att",
        ),
    ],
)
def test_one_name_for_two_layers_is_refused(plan: TaskPlan, reason: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"test: task 'alike': the shared layer 'meet' {reason}")):
        model_of(same=crossed(), alike=plan)


@pytest.mark.parametrize("plan", [TaskPlan(shared_layer="a.b"), crossed(shared="a.b")])
def test_a_name_with_a_dot_is_refused(plan: TaskPlan) -> None:
    with pytest.raises(UserError, match=r"the name of a shared layer must not contain a dot: 'a\.b'"):
        model_of(same=plan)


def test_only_cross_attention_can_be_shared() -> None:
    with pytest.raises(UserError, match="unknown setting 'shared' of pairing 'bi_encoder'"):
        model_of(same=TaskPlan(pairing={"name": "bi_encoder", "shared": "x"}))


@pytest.mark.parametrize(
    ("which", "encoder", "adapters"),
    [("all", "all", True), ("heads and adapters", "none", True), ("heads", "none", False), ("top 1", "top", True)],
)
def test_what_is_free_learns_and_nothing_else(which: str, encoder: str, adapters: bool) -> None:
    model = model_of(mood=TaskPlan(adapters=("houlsby",), pooling="attention"), same=TaskPlan(shared_layer="x"))
    model.set_trainable(which)
    trainable = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    every = {name for name, _ in model.named_parameters()}
    inside = {name for name in every if name.startswith("bert.")}
    top = {name for name in inside if name.startswith(("bert.layers.1.", "bert.pooler."))}
    assert trainable & inside == {"all": inside, "none": set(), "top": top}[encoder]
    own = {name for name in every - inside if ".adapters." not in name}
    assert own <= trainable
    assert any(".adapters." in name for name in trainable) == adapters


def test_free_says_what_it_may_be() -> None:
    for which in ("all", "heads and adapters", "heads", "top 3"):
        assert Stage(trainable=which).trainable == which
    for which in ("top", "top 0", "encoder", ""):
        with pytest.raises(ValueError, match="'trainable' is"):
            Stage(trainable=which)


PAIRS = {"pairing": "cross_attention", "pooling": "attention"}
OWN = {
    "mood": TaskPlan(adapters=("houlsby", "lora"), pooling="attention"),
    "same": TaskPlan(adapters=("pal", "top_layer"), **PAIRS),
    "alike": TaskPlan(adapters=("low_rank",), pairing="task_attention", pooling="cls", shared_layer="x"),
}


@pytest.mark.parametrize("name", OWN)
def test_a_tasks_loss_reaches_the_encoder_and_its_own_parts_and_no_others(name: str, tmp_path: Path) -> None:
    model = model_of(**{task: replace(plan, adapters=small(plan)) for task, plan in OWN.items()})
    loss_of(model, name, tmp_path).backward()
    reached = {key for key, parameter in model.named_parameters() if parameter.grad is not None}
    assert {key for key in reached if key.startswith("parts.")} == {
        key for key, _ in model.named_parameters() if key.startswith(f"parts.task_{name}.")
    }
    assert any(key.startswith("shared.") for key in reached) == (OWN[name].shared_layer is not None)
    assert any(key.startswith("bert.layers.0.") for key in reached)


@pytest.mark.parametrize("name", OWN)
def test_what_another_task_learns_in_its_own_parts_changes_nothing(name: str, tmp_path: Path) -> None:
    model = model_of(**{task: replace(plan, adapters=small(plan)) for task, plan in OWN.items()})
    before = answers(model, name, tmp_path)
    with torch.no_grad():
        for other in set(OWN) - {name}:
            for parameter in model.task(other).parameters():
                parameter.add_(1)
    assert torch.equal(before, answers(model, name, tmp_path))


def small(plan: TaskPlan) -> tuple[Spec, ...]:
    """The plan's adapters in a size that the tiny encoder can carry."""
    sizes: dict[str, Spec] = {
        "pal": {"name": "pal", "size": 8, "heads": 2},
        "houlsby": {"name": "houlsby", "size": 4},
        "low_rank": {"name": "low_rank", "size": 4},
    }
    return tuple(sizes.get(str(name), name) for name in plan.adapters)
