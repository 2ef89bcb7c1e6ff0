"""AdamW against torch's and by hand, parameter groups, schedules."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from minbert.config.recipe import Optimizer, Stage
from minbert.encoder.bert import Bert, BertConfig
from minbert.model.multitask import Model
from minbert.training.loop import clip_gradients
from minbert.training.optim import AdamW, FusedAdamW, make_optimizer, set_learning_rates
from minbert.training.prepare import prepare
from minbert.training.schedules import SCHEDULES
from tests.workbench import demo_recipe


def descend(make: Any, steps: int = 20, **settings: object) -> torch.Tensor:
    """Some steps on a small least-squares problem; the final weights."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16, 5, generator=generator, dtype=torch.float64)
    y = torch.randn(16, 3, generator=generator, dtype=torch.float64)
    weight = torch.randn(5, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    optimizer = make([weight], **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        ((x @ weight - y) ** 2).mean().backward()
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adamw_equals_torchs_where_epsilon_is_negligible(weight_decay: float) -> None:
    settings = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-15, "weight_decay": weight_decay}
    torch.testing.assert_close(descend(AdamW, **settings), descend(torch.optim.AdamW, **settings), rtol=0, atol=1e-12)


def test_adamw_differs_from_torchs_where_epsilon_counts() -> None:
    # the root of the second moment is smallest in the first steps, where the corrections differ most
    settings = {"lr": 0.01, "eps": 0.1, "steps": 3}
    assert (descend(AdamW, **settings) - descend(torch.optim.AdamW, **settings)).abs().max() > 1e-3


def test_adamw_first_step_by_hand() -> None:
    # g = 2: m = 0.2, v = 0.004; size = 0.1 * sqrt(0.001) / 0.1 = 0.0316228
    # decay first: 1 - 0.1 * 0.5 = 0.95; then 0.95 - 0.0316228 * 0.2 / (0.0632456 + 0.01) = 0.863653
    weight = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    weight.grad = torch.tensor([2.0], dtype=torch.float64)
    AdamW([weight], lr=0.1, betas=(0.9, 0.999), eps=0.01, weight_decay=0.5).step()
    expected = 0.95 - 0.1 * math.sqrt(0.001) / 0.1 * 0.2 / (math.sqrt(0.004) + 0.01)
    assert weight.item() == pytest.approx(expected, abs=1e-12)
    assert weight.item() == pytest.approx(0.863653, abs=1e-6)


@pytest.mark.parametrize(
    ("correct_bias", "after_1", "after_2"),
    [
        # g = 2: m = 0.2, v = 0.004; m / sqrt(v) = 3.162278. g = -1: m = 0.08, v = 0.004996; m / sqrt(v) = 1.131823
        # without correction: 1 - 0.1 * 3.162278, then less 0.1 * 1.131823
        (False, 0.683772, 0.570590),
        # times sqrt(0.001) / 0.1 = 0.316228, then times sqrt(0.001999) / 0.19 = 0.235317
        (True, 0.9, 0.873366),
    ],
)
@pytest.mark.parametrize("in_group", [False, True])
def test_adamw_with_and_without_bias_correction_by_hand(
    correct_bias: bool, after_1: float, after_2: float, in_group: bool
) -> None:
    weight = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    # a group's own setting wins over the constructor's
    params: Any = [{"params": [weight], "correct_bias": correct_bias}] if in_group else [weight]
    optimizer = AdamW(params, 0.1, (0.9, 0.999), 0.0, 0.0, correct_bias != in_group)
    for gradient, expected in [(2.0, after_1), (-1.0, after_2)]:
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        assert weight.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_fused_form_is_torchs_to_the_last_bit(weight_decay: float) -> None:
    settings = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": weight_decay}
    assert torch.equal(descend(FusedAdamW, **settings), descend(torch.optim.AdamW, fused=True, **settings))


@pytest.mark.parametrize("make", [AdamW, FusedAdamW])
def test_an_optimizer_goes_on_from_what_another_remembered(make: Any) -> None:
    first, second = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    alone, before = make([first], lr=0.1), make([second], lr=0.1)
    for number, optimizer, weight in [(0, alone, first), (1, alone, first), (0, before, second)]:
        weight.grad = torch.full((2, 2), 1.0 + number)
        optimizer.step()
    after = make([second], lr=0.1)
    after.load_state_dict(before.state_dict())
    second.grad = torch.full((2, 2), 2.0)
    after.step()
    assert torch.equal(first, second)


def test_training_leaves_torchs_compiler_alone(tiny: Path, tmp_path: Path) -> None:
    # its import takes longer than all else before the first step
    code = (
        "import sys; from minbert.cli import main; sys.argv[0] = 'minbert'\n"
        "try: main()\n"
        "finally: print('compiler', 'torch._dynamo' in sys.modules)"
    )
    words = [
        "train",
        "demo",
        "--set",
        f"backbone={tiny}",
        "--set",
        "epoch_fraction=0.05",
        "--out",
        str(tmp_path / "run"),
    ]
    said = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (tmp_path / "run" / "model").is_dir(), said.stderr
    assert "compiler False" in said.stdout


def test_the_fused_form_always_corrects_the_bias() -> None:
    weight = torch.ones(1, requires_grad=True)
    weight.grad = torch.ones(1)
    with pytest.raises(ValueError, match="use AdamW for correct_bias=False"):
        FusedAdamW([weight], correct_bias=False).step()


def test_adamw_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="betas"):
        AdamW([torch.zeros(1, requires_grad=True)], betas=(0.9, 1.0))


@pytest.fixture(scope="module")
def model(tiny: Path) -> Model:
    return prepare(demo_recipe(tiny), None).model


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


@pytest.mark.parametrize("implementation", ["torch", "minbert"])
def test_a_parameter_without_a_gradient_neither_moves_nor_decays(implementation: Any) -> None:
    still, moving = (torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    model = torch.nn.Module()
    model.still, model.moving, model.bert = still, moving, Bert(BertConfig(1, 4, 1, 4, 5, 5))
    settings = Optimizer(implementation=implementation, weight_decay=0.5)
    optimizer = make_optimizer(model, settings)  # type: ignore[arg-type]
    set_learning_rates(optimizer, 0.1, 0.1)
    moving.grad = torch.ones(2, 2)
    optimizer.step()
    assert (still == 1).all() and (moving < 1).all()


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
