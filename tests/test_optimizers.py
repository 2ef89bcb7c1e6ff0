"""Optimizers: one contract over the whole dict, torch's own to the last bit, and numbers worked by hand."""

import copy
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from minbert.config.loading import read_recipe
from minbert.config.recipe import Optimizer
from minbert.config.schema import build_technique
from minbert.encoder.bert import Bert, BertConfig
from minbert.errors import UserError
from minbert.runs.checkpoint import load_newest_checkpoint, save_checkpoint
from minbert.training.loop import Loop
from minbert.training.optim import make_optimizer, set_learning_rates
from minbert.training.optimizers import OPTIMIZERS, OptimizerAlgorithm
from minbert.training.optimizers.adamw import AdamW
from minbert.training.optimizers.lion import Lion
from minbert.training.prepare import outline, prepare
from minbert.training.resolve import resolve_recipe
from tests.tiny import tiny_config
from tests.workbench import Minbert

# both implementations of AdamW, and all others with their defaults
SPECS: dict[str, Any] = {
    **{name: name for name in OPTIMIZERS},
    "our adamw": {"name": "adamw", "implementation": "minbert"},
    "sgd without momentum": {"name": "sgd", "momentum": 0.0},
}
each_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
DECOUPLED = {"decoupled_weight_decay": True}
OTHER_MEANS: dict[str, Any] = {"betas": (0.8, 0.9), "eps": 0.1}
NESTEROV: dict[str, Any] = {"momentum": 0.5, "nesterov": True}
# a technique with its settings, and the same of torch.optim
PUBLIC: list[tuple[Any, Any, dict[str, Any]]] = [
    ("adafactor", torch.optim.Adafactor, {}),
    (
        {"name": "adafactor", "beta2_decay": -0.5, "eps": 0.5, "clipping_threshold": 2.0},
        torch.optim.Adafactor,
        {"beta2_decay": -0.5, "eps": (None, 0.5), "d": 2.0},
    ),
    ("adam", torch.optim.Adam, {"fused": True}),
    ({"name": "adam", **OTHER_MEANS}, torch.optim.Adam, {"fused": True, **OTHER_MEANS}),
    ("adamw", torch.optim.AdamW, {"fused": True}),
    ({"name": "adamw", **OTHER_MEANS}, torch.optim.AdamW, {"fused": True, **OTHER_MEANS}),
    ("nadam", torch.optim.NAdam, DECOUPLED),
    ({"name": "nadam", "momentum_decay": 0.5}, torch.optim.NAdam, {"momentum_decay": 0.5, **DECOUPLED}),
    ("radam", torch.optim.RAdam, DECOUPLED),
    ({"name": "radam", **OTHER_MEANS}, torch.optim.RAdam, {**OTHER_MEANS, **DECOUPLED}),
    ("rmsprop", torch.optim.RMSprop, {}),
    ({"name": "rmsprop", "alpha": 0.5, "eps": 0.1}, torch.optim.RMSprop, {"alpha": 0.5, "eps": 0.1}),
    ("sgd", torch.optim.SGD, {"momentum": 0.9, "fused": True}),
    ({"name": "sgd", "momentum": 0.0}, torch.optim.SGD, {"fused": True}),
    ({"name": "sgd", **NESTEROV}, torch.optim.SGD, {"fused": True, **NESTEROV}),
]


def build(spec: Any, *groups: dict[str, Any]) -> OptimizerAlgorithm:
    return build_technique("algorithm", OPTIMIZERS, spec, "test", groups)


def group_of(*parameters: Tensor, lr: float = 0.1, weight_decay: float = 0.0) -> dict[str, Any]:
    return {"params": list(parameters), "lr": lr, "weight_decay": weight_decay}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def descend(make: Any, steps: int, rates: tuple[float, float] = (0.01, 0.03)) -> list[Tensor]:
    """Least squares: a matrix that decays, a bias that does not, each with its own rate, which falls."""
    x, y = random(16, 5), random(16, 3, seed=1)
    weight, bias = random(5, 3, seed=2).requires_grad_(), random(3, seed=3).requires_grad_()
    optimizer = make([group_of(weight, weight_decay=0.3), group_of(bias)])
    for step in range(steps):
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - step / (2 * steps))
        optimizer.zero_grad()
        ((x @ weight + bias - y) ** 2).mean().backward()
        optimizer.step()
    return [weight.detach(), bias.detach()]


# ---- the same as torch's ------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 25])
@pytest.mark.parametrize(("spec", "public", "settings"), PUBLIC, ids=lambda value: str(value).split(".")[-1])
def test_an_optimizer_is_torchs_to_the_last_bit(spec: Any, public: Any, settings: dict[str, Any], steps: int) -> None:
    ours = descend(lambda groups: build(spec, *groups), steps)
    theirs = descend(lambda groups: public(groups, **settings), steps)
    for found, expected, start in zip(ours, theirs, descend(OPTIMIZERS["sgd"], 0), strict=True):
        assert torch.equal(found, expected)
        assert not torch.equal(found, start)


def test_every_optimizer_but_our_own_is_compared_with_torchs() -> None:
    compared = {spec if isinstance(spec, str) else spec["name"] for spec, _, _ in PUBLIC}
    assert compared == set(OPTIMIZERS) - {"lion"}


# ---- the contract -------------------------------------------------------------------------------------


@each_spec
def test_a_parameter_without_a_gradient_neither_moves_nor_decays_and_biases_do_not_decay(spec: Any) -> None:
    model = nn.Module()
    model.still, model.weight, model.bias = (nn.Parameter(torch.ones(*shape)) for shape in [(2, 2), (2, 2), (2,)])
    model.bert = Bert(BertConfig(1, 4, 1, 4, 5, 5))
    optimizer = make_optimizer(model, Optimizer(algorithm=spec, weight_decay=0.5))  # type: ignore[arg-type]
    set_learning_rates(optimizer, 0.1, 0.1)
    model.weight.grad, model.bias.grad = torch.zeros(2, 2), torch.zeros(2)
    optimizer.step()
    assert (model.still == 1).all() and (model.bias == 1).all()
    assert (model.weight < 1).all() and (model.weight > 0).all()
    assert list(optimizer.state) == [model.weight, model.bias]
    optimizer.zero_grad()
    assert model.weight.grad is None and model.bias.grad is None


@each_spec
def test_a_step_is_as_large_as_the_learning_rate_of_its_group_says(spec: Any) -> None:
    slow, fast, fixed = (random(3, 4).double().requires_grad_() for _ in range(3))
    for parameter in (slow, fast, fixed):
        parameter.grad = random(3, 4, seed=1).double()
    build(spec, group_of(slow, lr=0.01), group_of(fast, lr=0.05), group_of(fixed, lr=0.0)).step()
    start = random(3, 4).double()
    assert torch.equal(fixed, start)
    assert (slow != start).all()
    torch.testing.assert_close(fast - start, 5 * (slow - start), rtol=1e-9, atol=0)


@each_spec
def test_a_parameter_that_joins_later_moves_as_if_it_had_been_alone(spec: Any) -> None:
    """Parameters that a later stage trains are in the same groups as those of the first."""
    first, late, alone = (random(3, 4, seed=seed).requires_grad_() for seed in (0, 1, 1))
    together, single = build(spec, group_of(first, late)), build(spec, group_of(alone))
    for step in range(6):
        first.grad = random(3, 4, seed=10 + step)
        if step >= 3:
            late.grad = random(3, 4, seed=20 + step)
            alone.grad = late.grad.clone()
            single.step()
        together.step()
    assert torch.equal(late, alone)


@each_spec
def test_an_optimizer_continues_from_a_saved_state(spec: Any, tmp_path: Path) -> None:
    """Stopped after any step, the state written to a file: the same weights to the last bit."""

    def steps(optimizer: OptimizerAlgorithm, parameters: list[Tensor], numbers: range) -> None:
        for number in numbers:
            for place, parameter in enumerate(parameters):
                # the last one has no gradient at first, and so no state
                if number >= 2 or parameter is not parameters[-1]:
                    parameter.grad = random(*parameter.shape, seed=10 * number + place)
            optimizer.step()

    def start() -> list[Tensor]:
        return [random(*shape).requires_grad_() for shape in [(3, 4), (3,), (4, 2)]]

    def groups(parameters: list[Tensor]) -> list[dict[str, Any]]:
        return [group_of(*parameters[:2], weight_decay=0.1), group_of(parameters[2])]

    whole = start()
    steps(build(spec, *groups(whole)), whole, range(8))
    for stop in range(1, 8):
        parts = start()
        before = build(spec, *groups(parts))
        steps(before, parts, range(stop))
        save_checkpoint(tmp_path, stop, nn.Module(), before.state_dict(), 1)
        saved, _ = load_newest_checkpoint(tmp_path)
        assert saved is not None
        after = build(spec, *groups(parts))
        after.load_state_dict(saved.state)
        steps(after, parts, range(stop, 8))
        assert all(torch.equal(*pair) for pair in zip(whole, parts, strict=True)), stop


@each_spec
def test_a_resumed_training_ends_as_if_it_had_never_stopped(spec: Any, tiny: Path, tmp_path: Path) -> None:
    stages = 'stages=[{trainable = "top 1", steps_per_epoch = 2}, {steps_per_epoch = 3}]'
    recipe = read_recipe("demo", [f"backbone={tiny}", stages, "optimizer.learning_rate=0.01"])
    recipe = replace(recipe, optimizer=replace(recipe.optimizer, algorithm=spec))

    def loop() -> Loop:
        ready = prepare(recipe)
        return Loop(ready.model, ready.setup)

    whole, before, after = loop(), loop(), loop()
    start = copy.deepcopy(whole.model.state_dict())
    losses = [step.losses for step in whole]
    found = [before.step().losses for _ in range(3)]
    save_checkpoint(tmp_path, 3, before.model, before.state(), 1)
    saved, _ = load_newest_checkpoint(tmp_path)
    assert saved is not None
    after.model.load_state_dict(saved.weights)
    after.restore(saved.state)
    assert [*found, *(step.losses for step in after)] == losses
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, after.model.state_dict()[name]), name
    assert any(
        not torch.equal(value, start[name]) for name, value in whole.model.bert.state_dict(prefix="bert.").items()
    )


def test_no_optimizer_imports_torchs_compiler() -> None:
    # its import takes longer than all else before the first step
    code = """
import sys, torch
from minbert.training.optimizers import OPTIMIZERS
for make in OPTIMIZERS.values():
    weight = torch.ones(2, 2, requires_grad=True)
    weight.grad = torch.ones(2, 2)
    make([{"params": [weight], "lr": 0.1, "weight_decay": 0.1}]).step()
    assert (weight < 1).all()
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_training_leaves_torchs_compiler_alone(tiny: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from minbert.cli import main; sys.argv[0] = 'minbert'\n"
        "try: main()\n"
        "finally: print('compiler', 'torch._dynamo' in sys.modules)"
    )
    words = ["--set", f"backbone={tiny}", "--set", "epoch_fraction=0.05", "--out", str(tmp_path / "run")]
    said = subprocess.run([sys.executable, "-c", code, "train", "demo", *words], capture_output=True, text=True)
    assert (tmp_path / "run" / "model").is_dir(), said.stderr
    assert "compiler False" in said.stdout


# ---- our own ------------------------------------------------------------------------------------------


def single(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64, requires_grad=True)


def test_our_adamw_is_torchs_where_epsilon_is_negligible_and_differs_where_it_counts() -> None:
    for eps, same in [(1e-15, True), (0.1, False)]:
        ours = descend(lambda groups, eps=eps: AdamW(groups, eps=eps, implementation="minbert"), 3)  # type: ignore[misc]
        theirs = descend(lambda groups, eps=eps: torch.optim.AdamW(groups, eps=eps), 3)  # type: ignore[misc]
        largest = max(float((one - other).abs().max()) for one, other in zip(ours, theirs, strict=True))
        assert largest < 1e-6 if same else largest > 1e-3


def test_our_adamw_by_hand() -> None:
    # g = 2: m = 0.2, v = 0.004; size = 0.1 * sqrt(0.001) / 0.1 = 0.0316228
    # decay first: 1 - 0.1 * 0.5 = 0.95; then 0.95 - 0.0316228 * 0.2 / (0.0632456 + 0.01) = 0.863653
    weight = single(1.0)
    weight.grad = torch.tensor([2.0], dtype=torch.float64)
    AdamW([group_of(weight, weight_decay=0.5)], eps=0.01, implementation="minbert").step()
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
def test_our_adamw_with_and_without_bias_correction_by_hand(correct_bias: bool, after_1: float, after_2: float) -> None:
    weight = single(1.0)
    optimizer = AdamW([group_of(weight)], eps=1e-15, correct_bias=correct_bias, implementation="minbert")
    for gradient, expected in [(2.0, after_1), (-1.0, after_2)]:
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        assert weight.item() == pytest.approx(expected, abs=1e-6)


def test_lion_by_hand() -> None:
    weight = single(1.0)
    optimizer = Lion([group_of(weight, weight_decay=0.5)])
    for gradient, expected, mean in [
        # sign(0.1 * 2) = 1: 0.95 * 1 - 0.1; m = 0.01 * 2
        (2.0, 0.85, 0.02),
        # sign(0.9 * 0.02 - 0.1 * 0.1) = 1, against the gradient: 0.95 * 0.85 - 0.1; m = 0.99 * 0.02 - 0.01 * 0.1
        (-0.1, 0.7075, 0.0188),
        # sign(0.9 * 0.0188 - 0.1 * 1) = -1: 0.95 * 0.7075 + 0.1; m = 0.99 * 0.0188 - 0.01
        (-1.0, 0.772125, 0.008612),
        # without a gradient the mean counts: sign(0.9 * 0.008612) = 1
        (0.0, 0.63351875, 0.00852588),
    ]:
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        assert weight.item() == pytest.approx(expected, abs=1e-12)
        assert optimizer.state[weight]["exp_avg"].item() == pytest.approx(mean, abs=1e-12)


# ---- in recipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [
        ("sdg", "unknown algorithm 'sdg'. Did you mean 'sgd'?"),
        ('{name = "adamw", epsilon = 1}', "unknown setting 'epsilon' of algorithm 'adamw'. Did you mean 'eps'?"),
        ('{name = "sgd", betas = [0.9, 0.9]}', "unknown setting 'betas' of algorithm 'sgd'."),
        ('{name = "adamw", betas = [0.9]}', "algorithm 'adamw': needs two betas, 0 <= beta < 1"),
        ('{name = "lion", betas = [0.9, 1.0]}', "algorithm 'lion': needs two betas, 0 <= beta < 1"),
        ('{name = "adam", eps = 0}', "algorithm 'adam': needs eps > 0"),
        ('{name = "nadam", momentum_decay = -1}', "algorithm 'nadam': needs momentum_decay >= 0"),
        ('{name = "rmsprop", alpha = 1}', "algorithm 'rmsprop': needs 0 <= alpha < 1"),
        ('{name = "adafactor", clipping_threshold = 0}', "algorithm 'adafactor': needs clipping_threshold >= 1"),
        ('{name = "sgd", momentum = 1}', "algorithm 'sgd': needs 0 <= momentum < 1"),
        ('{name = "sgd", momentum = 0, nesterov = true}', "algorithm 'sgd': needs momentum > 0 for nesterov"),
        (
            "{correct_bias = false}",
            "algorithm 'adamw': needs implementation = \"minbert\" for correct_bias = false",
        ),
        (
            '{implementation = "jax"}',
            "setting 'implementation' of algorithm 'adamw' should be 'torch' or 'minbert', not 'jax'.",
        ),
    ],
)
def test_an_algorithm_that_cannot_work_is_rejected_before_any_data_is_read(algorithm: str, reason: str) -> None:
    recipe = read_recipe("demo", [f"optimizer.algorithm={algorithm}"])
    with pytest.raises(UserError, match=re.escape(f"recipe demo: {reason}")):
        outline(recipe, recipe.read_tasks(), tiny_config())


@pytest.mark.parametrize(
    ("algorithm", "full"),
    [
        (None, {"name": "adamw", "betas": [0.9, 0.999], "eps": 1e-8, "correct_bias": True, "implementation": "torch"}),
        ("sgd", {"name": "sgd", "momentum": 0.9, "nesterov": False}),
        ('{name = "lion", betas = [0.95, 0.98]}', {"name": "lion", "betas": [0.95, 0.98]}),
    ],
)
def test_a_resolved_recipe_has_every_setting_of_its_algorithm(algorithm: str | None, full: dict[str, Any]) -> None:
    recipe = read_recipe("demo", [] if algorithm is None else [f"optimizer.algorithm={algorithm}"])
    assert resolve_recipe(recipe, recipe.read_tasks())["optimizer"]["algorithm"] == full


def test_techniques_lists_every_optimizer(minbert: Minbert) -> None:
    said = minbert("techniques", "algorithm")
    assert said.code == 0
    assert all(f" {name} " in said.out for name in OPTIMIZERS)
