"""Parameter groups, schedules, clipping, learning rates."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from minbert.config.recipe import Optimizer, Stage
from minbert.model.multitask import Model
from minbert.training.loop import clip_gradients
from minbert.training.optim import make_optimizer, set_learning_rates
from minbert.training.prepare import prepare
from minbert.training.schedules import SCHEDULES
from tests.workbench import demo_recipe


@pytest.fixture(scope="module")
def model(tiny: Path) -> Model:
    return prepare(demo_recipe(tiny)).model


def test_biases_and_norms_do_not_decay_and_heads_may_learn_faster(model: Model) -> None:
    optimizer = make_optimizer(model, Optimizer(weight_decay=0.3))
    set_learning_rates(optimizer, 1.0, 7.0)
    found = {id(p): (group["lr"], group["weight_decay"]) for group in optimizer.param_groups for p in group["params"]}
    assert len(found) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        rate, decay = found[id(parameter)]
        assert decay == (0.0 if name.endswith("bias") or "norm" in name else 0.3), name
        assert rate == (7.0 if name.startswith("parts.") else 1.0), name


def test_layer_decay_slows_the_lower_layers(model: Model) -> None:
    optimizer = make_optimizer(model, Optimizer(layer_decay=0.5))
    set_learning_rates(optimizer, 1.0, 1.0)
    rate = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    bert = model.bert
    # the top of the 2 layers learns as fast as the heads, the lower half as fast, the embeddings a quarter
    assert rate[id(model.task("sentiment").head.output.weight)] == 1.0  # type: ignore[union-attr]
    assert rate[id(bert.layers[1].inner.weight)] == 1.0  # type: ignore[union-attr]
    assert rate[id(bert.layers[0].inner.weight)] == 0.5  # type: ignore[union-attr]
    assert rate[id(bert.embeddings.word.weight)] == 0.25


@pytest.mark.parametrize(
    ("schedule", "step", "factor"),
    [
        # 10 steps, the first 4 of them rising
        ("linear", 1, 0.25), ("linear", 4, 1.0), ("linear", 5, 1.0), ("linear", 8, 0.5), ("linear", 10, 1 / 6),
        ("cosine", 2, 0.5), ("cosine", 5, 1.0), ("cosine", 8, 0.5),
        ("constant", 3, 0.75), ("constant", 5, 1.0), ("constant", 10, 1.0),
    ],
)  # fmt: skip
def test_schedules_by_hand(schedule: str, step: int, factor: float) -> None:
    assert SCHEDULES[schedule](0.4, 1e-3).factor(step, 10) == pytest.approx(factor)


@pytest.mark.parametrize("total", [10, 37, 200])
def test_rising_schedules_are_those_of_torch(total: int) -> None:
    def rates_of(make: Any) -> list[float]:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-5)
        schedule = make(optimizer)
        rates = []
        for _ in range(total):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return rates

    def ours(name: str, **settings: Any) -> list[float]:
        # the warmup is not used: they rise by themselves
        schedule = SCHEDULES[name](0.1, 1e-5, maximum=1e-3, **settings)
        return [1e-5 * schedule.factor(step, total) for step in range(1, total + 1)]

    one_cycle = rates_of(lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total, div_factor=100))
    assert ours("one_cycle") == pytest.approx(one_cycle)
    assert max(one_cycle) > 0.9e-3
    cyclic = rates_of(
        lambda optimizer: torch.optim.lr_scheduler.CyclicLR(
            optimizer, 1e-5, 1e-3, step_size_up=total / 4, cycle_momentum=False
        )
    )
    assert ours("cyclic", cycles=2) == pytest.approx(cyclic)


def test_the_rate_of_the_extended_recipe_can_reach_its_maximum_in_ten_epochs() -> None:
    schedule = SCHEDULES["adjusting"](0.0, 1e-5, maximum=1e-3, up=1.8)
    for epoch in range(9):
        schedule.after_epoch(1 - 0.1 * epoch)
    # between ten epochs there are nine changes, the first of which has nothing to compare with
    assert 1e-5 * schedule.factor(10, 10) == pytest.approx(1e-3)


def test_the_adjusting_rate_rises_with_falling_losses_up_to_its_maximum_and_falls_with_rising_ones() -> None:
    """Rates worked by hand: losses 1, .9, .95, .8 from 1e-5."""
    schedule = SCHEDULES["adjusting"](0.0, 1e-5, maximum=1.2e-5)
    rates = [1e-5 * schedule.factor(1, 10)]
    for loss in (1.0, 0.9, 0.95, 0.8, 0.7):
        schedule.after_epoch(loss)
        rates.append(1e-5 * schedule.factor(5, 10))
    assert rates == pytest.approx([1e-5, 1e-5, 1.2e-5, 0.6e-5, 0.9e-5, 1.2e-5])
    other = SCHEDULES["adjusting"](0.0, 1e-5, maximum=1.2e-5)
    other.restore(json.loads(json.dumps(schedule.state())))
    for each in (schedule, other):
        each.after_epoch(0.9)
    assert other.factor(6, 10) == schedule.factor(6, 10) == pytest.approx(0.6)


def test_clipping_bounds_the_norm_of_all_gradients() -> None:
    parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
    parameters[0].grad, parameters[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])
    clip_gradients(parameters, 0.0)
    assert parameters[1].grad[1] == 4
    clip_gradients(parameters, 1.0)
    # the norm was 5
    assert parameters[0].grad[0] == pytest.approx(0.6, abs=1e-5)
    assert parameters[1].grad[1] == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize(
    ("stage", "optimizer", "rates"),
    [
        ({}, {}, (5e-5, 5e-5)),
        ({}, {"head_learning_rate": 1e-3}, (5e-5, 1e-3)),
        ({"learning_rate": 0.1}, {"head_learning_rate": 1e-3}, (0.1, 0.1)),
        ({"learning_rate": 0.1, "head_learning_rate": 0.2}, {}, (0.1, 0.2)),
    ],
)
def test_a_stages_own_rates_win(
    stage: dict[str, float], optimizer: dict[str, float], rates: tuple[float, float]
) -> None:
    assert Stage(**stage).rates(Optimizer(**optimizer)) == rates  # type: ignore[arg-type]
