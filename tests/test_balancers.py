"""Balancers: one contract over the whole dict, numbers worked by hand, and TorchJD's where it has the same."""

import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from minbert.config.schema import Spec, build_technique
from minbert.errors import UserError
from minbert.training.balancers import BALANCERS, Balancer
from tests.test_families import packed_of, random
from tests.tiny import tiny_bert

# what a balancer cannot be made without
WEIGHTS = {"a": 2.0, "b": 0.5, "c": 1.0}
SPECS: dict[str, Spec] = {name: name for name in BALANCERS} | {"weighted": {"name": "weighted", "weights": WEIGHTS}}
KINDS = {"a": "classify", "b": "score", "c": "classify"}


def balancer_of(spec: Spec, tasks: Sequence[str] = ("a", "b"), seed: int = 0) -> Any:
    kinds = {task: KINDS[task] for task in tasks}
    if isinstance(spec, dict) and "weights" in spec:
        spec = {**spec, "weights": {task: spec["weights"][task] for task in tasks}}
    return build_technique("balancer", BALANCERS, spec, "x.toml", kinds, seed)


class Toy:
    """Tasks with given losses and gradients: loss = own + vector . shared at shared = 0, own the task's parameter."""

    def __init__(self, **tasks: tuple[float, Sequence[float]]) -> None:
        self.vectors = {task: torch.tensor(vector) for task, (_, vector) in tasks.items()}
        self.shared = nn.Parameter(torch.zeros(len(next(iter(self.vectors.values())))))
        self.own = {task: nn.Parameter(torch.tensor(value)) for task, (value, _) in tasks.items()}

    def loss(self, task: str) -> Tensor:
        return self.own[task] + self.vectors[task] @ self.shared


# the gradients of PCGrad's example; losses 2 and 1/2
CONFLICT: dict[str, tuple[float, list[float]]] = {"a": (2.0, [1.0, 0.0]), "b": (0.5, [-1.0, 1.0])}
THREE = CONFLICT | {"c": (1.0, [0.0, -1.0])}
# what is left of each task's loss after a step
LEFT = {"a": 0.9, "b": 0.7, "c": 0.8}


def step(
    balancer: Balancer, toy: Toy, *parts: Mapping[str, float], after: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The gradients of a step. Each part names its tasks, and by what their losses are multiplied in it.

    Measured again, the losses are `after`; left out, what they are times LEFT.
    """
    parts = parts or (dict.fromkeys(toy.own, 1.0),)
    for parameter in (toy.shared, *toy.own.values()):
        parameter.grad = None
    losses = []
    for part in parts:
        found = {task: times * toy.loss(task) for task, times in part.items()}
        losses.append({task: loss.item() for task, loss in found.items()})
        balancer.backward(found, len(parts), [toy.shared])
    balancer.finish_step(losses, [toy.shared])
    gradients = {task: parameter.grad.item() for task, parameter in toy.own.items() if parameter.grad is not None}
    assert toy.shared.grad is not None
    shared = toy.shared.grad.tolist()
    balancer.after_step(lambda: after or {task: LEFT[task] * toy.own[task].item() for task in gradients})
    return {"shared": shared, **gradients}


def close(found: Any, expected: Any) -> bool:
    """The same keys and lengths, and numbers that differ by rounding at most."""
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(close(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        return len(found) == len(expected) and all(map(close, found, expected))
    return bool(found == (pytest.approx(expected, rel=1e-5, abs=1e-6) if isinstance(found, float) else expected))


def kept_for(task: str, state: Any) -> list[Any]:
    """All that a state has under a task's name."""
    if not isinstance(state, dict):
        return []
    found = [copy.deepcopy(value) for key, value in state.items() if key == task]
    return found + [each for value in state.values() for each in kept_for(task, value)]


# ---- the contract -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BALANCERS)
def test_a_task_alone_in_a_step_gets_its_plain_gradient_times_its_weight(name: str) -> None:
    # a's loss is 2 and its square counts 2 * 2; b's is a score, which Kendall halves
    weights = {"weighted": (2, 0.5), "squared": (4, 1), "uncertainty": (1, 0.5)}.get(name, (1, 1))
    toy = Toy(**CONFLICT)
    for task, weight in zip("ab", weights, strict=True):
        found = step(balancer_of(SPECS[name]), toy, {task: 1})
        assert close(found, {"shared": (weight * toy.vectors[task]).tolist(), task: weight})


@pytest.mark.parametrize("name", BALANCERS)
def test_parts_of_a_step_add_up_to_the_step(name: str) -> None:
    whole, parted, toy = balancer_of(SPECS[name]), balancer_of(SPECS[name]), Toy(**CONFLICT)
    for _ in range(3):
        expected = step(whole, toy)
        # the losses of the parts differ; their means are the losses of the whole
        assert close(step(parted, toy, {"a": 1.5, "b": 0.2}, {"b": 1.8, "a": 0.5}), expected)
        for balancer in (whole, parted):
            balancer.after_epoch()
        assert close(parted.state(), whole.state())


@pytest.mark.parametrize("name", BALANCERS)
def test_each_micro_batch_counts_its_exact_part_of_the_gradient(name: str) -> None:
    toy = Toy(a=(0.7, [0.3, 0.1]))
    balancer = balancer_of(SPECS[name], "a")
    weight = balancer.weights().get("a", 1.0)
    found = step(balancer, toy, {"a": 1}, {"a": 1}, {"a": 1})
    if name in ("squared", "famo"):
        weight = balancer.weights()["a"]
    toy.shared.grad = None
    for _ in range(3):
        (weight * (toy.loss("a") / 3)).backward()
    assert toy.shared.grad is not None and found["shared"] == toy.shared.grad.tolist()


def test_remembered_losses_are_the_true_ones_however_many_micro_batches_there_are() -> None:
    toy = Toy(a=(0.7, [1.0]), b=(0.9, [1.0]))
    true = {task: toy.loss(task).item() for task in "ab"}
    assert any((toy.loss(task) / 3).item() * 3 != loss for task, loss in true.items()), "losses that do not round trip"
    both = dict.fromkeys("ab", 1.0)
    dwa, gradnorm, squared = (balancer_of(name) for name in ("dwa", "gradnorm", "squared"))
    for balancer in (dwa, gradnorm, squared):
        step(balancer, toy, both, both, both)
    assert dwa.state()["epoch"] == {task: [3 * loss, 3] for task, loss in true.items()}
    assert gradnorm.state()["first"] == {task: 3 * loss / 3 for task, loss in true.items()}
    assert squared.weights() == {task: 2 * (3 * loss / 3) for task, loss in true.items()}


@pytest.mark.parametrize("name", BALANCERS)
def test_tasks_in_parts_of_their_own_are_balanced_as_if_they_were_in_one(name: str) -> None:
    whole, parted, toy = balancer_of(SPECS[name]), balancer_of(SPECS[name]), Toy(**CONFLICT)
    for _ in range(3):
        expected = step(whole, toy)
        # of two parts a task has one: half of its gradient
        halves = {"shared": [each / 2 for each in expected.pop("shared")]} | {t: g / 2 for t, g in expected.items()}
        assert close(step(parted, toy, {"a": 1}, {"b": 1}), halves)
        assert close(parted.state(), whole.state())


@pytest.mark.parametrize("name", BALANCERS)
def test_what_is_remembered_of_a_task_stays_in_steps_without_it(name: str) -> None:
    balancer, toy = balancer_of(SPECS[name], "abc"), Toy(**THREE)
    for _ in range(2):
        step(balancer, toy)
    balancer.after_epoch()
    before, weight = kept_for("c", balancer.state()), balancer.weights().get("c")
    for _ in range(3):
        step(balancer, toy, {"a": 1, "b": 1})
        step(balancer, toy, {"a": 1})
    assert kept_for("c", balancer.state()) == before
    assert balancer.weights().get("c") == weight


@pytest.mark.parametrize("name", BALANCERS)
def test_a_restored_balancer_goes_on_as_if_it_had_never_stopped(name: str) -> None:
    def later(balancer: Balancer) -> list[Any]:
        found = []
        for times in (1.1, 0.7, 0.9):
            found.append(step(balancer, toy, {"a": times, "b": 1, "c": 1 / times}, {"c": 1}))
            balancer.after_epoch()
        return [*found, balancer.weights()]

    balancer, toy = balancer_of(SPECS[name], "abc"), Toy(**THREE)
    for _ in range(2):
        step(balancer, toy)
        balancer.after_epoch()
    step(balancer, toy)
    state = json.loads(json.dumps(balancer.state()))
    expected = later(balancer)
    other = balancer_of(SPECS[name], "abc", seed=5)
    other.restore(state)
    assert later(other) == expected


@pytest.mark.parametrize("name", BALANCERS)
def test_the_seed_decides_the_gradients(name: str) -> None:
    def steps(seed: int) -> list[Any]:
        balancer = balancer_of(SPECS[name], "abc", seed)
        return [step(balancer, Toy(**THREE)) for _ in range(8)]

    assert steps(3) == steps(3)
    assert (steps(3) != steps(4)) == (name in ("gradvac", "pcgrad"))


@pytest.mark.parametrize("name", BALANCERS)
def test_an_encoder_with_nothing_free_is_no_obstacle(name: str) -> None:
    balancer, toy = balancer_of(SPECS[name]), Toy(**CONFLICT)
    toy.shared.requires_grad_(False)
    for _ in range(2):
        balancer.backward({task: toy.loss(task) for task in "ab"}, 1, [])
        balancer.finish_step([{task: toy.loss(task).item() for task in "ab"}], [])
        balancer.after_step(lambda: {"a": 1.9, "b": 0.4})
    assert toy.shared.grad is None
    assert all(own.grad is not None and own.grad > 0 for own in toy.own.values())


@pytest.mark.parametrize("name", BALANCERS)
def test_a_parameter_that_only_one_task_uses_gets_what_comes_from_it(name: str) -> None:
    both, one, frozen = (nn.Parameter(torch.tensor(1.0), requires_grad=free) for free in (True, True, False))
    balancer = balancer_of(SPECS[name])
    before = balancer.weights()
    balancer.backward({"a": both * 3 + one * frozen, "b": both * frozen}, 1, [both, one])
    balancer.finish_step([{"a": 4.0, "b": 1.0}], [both, one])
    # those by the whole step have weights only after it
    weights = before or balancer.weights()
    assert one.grad is not None and one.grad.item() == pytest.approx(weights.get("a", 1.0))
    assert both.grad is not None
    assert both.grad.item() == pytest.approx(3 * weights.get("a", 1.0) + weights.get("b", 1.0))
    assert frozen.grad is None


# ---- weights known before the step --------------------------------------------------------------------


def test_the_sum_is_the_sum() -> None:
    balancer = balancer_of("sum")
    assert close(step(balancer, Toy(**CONFLICT)), {"shared": [0, 1], "a": 1, "b": 1})
    assert balancer.weights() == {}


def test_given_weights_multiply_the_losses() -> None:
    balancer = balancer_of(SPECS["weighted"])
    # 2 (1, 0) + .5 (-1, 1)
    assert close(step(balancer, Toy(**CONFLICT)), {"shared": [1.5, 0.5], "a": 2, "b": 0.5})
    assert balancer.weights() == {"a": 2, "b": 0.5}


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ({"a": 1, "b": 1, "q": 1}, "the recipe has no task 'q'. Known: a, b."),
        ({"a": 1}, "there is no weight for the task 'b'"),
        ({"a": 1, "b": -1}, "needs weights of 0 or more, and one above 0"),
    ],
)
def test_weights_that_do_not_fit_the_tasks_are_refused(weights: dict[str, float], reason: str) -> None:
    with pytest.raises(UserError) as caught:
        build_technique(
            "balancer", BALANCERS, {"name": "weighted", "weights": weights}, "x.toml", {"a": "score", "b": "score"}, 0
        )
    assert str(caught.value) == f"x.toml: balancer 'weighted': {reason}"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"name": "dwa", "temperature": 0}, "temperature 0.0 is not above 0"),
        ({"name": "gradnorm", "alpha": -1}, "alpha -1.0 is below 0"),
        ({"name": "gradvac", "beta": 2}, "beta 2.0 is not between 0 and 1"),
        ({"name": "famo", "learning_rate": 0}, "needs learning_rate > 0 and decay >= 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(spec: Spec, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        balancer_of(spec)


def test_squared_losses_count_twice_their_size() -> None:
    balancer = balancer_of("squared")
    # 2 * 2 (1, 0) + 2 * .5 (-1, 1)
    assert close(step(balancer, Toy(**CONFLICT)), {"shared": [3, 1], "a": 4, "b": 1})
    assert balancer.weights() == {"a": 4, "b": 1}


# ---- dynamic weight average ---------------------------------------------------------------------------


def epochs(balancer: Balancer, *epochs: Sequence[Mapping[str, float]]) -> None:
    """Each epoch is a list of steps, each of which says the tasks' losses."""
    for each in epochs:
        for losses in each:
            step(balancer, Toy(**{task: (loss, [1.0]) for task, loss in losses.items()}))
        balancer.after_epoch()


def test_dwa_weighs_all_alike_for_two_epochs_and_then_by_how_slowly_losses_fall() -> None:
    balancer = balancer_of("dwa", "abc")
    for losses in ({"a": 1.0, "b": 0.5, "c": 2.0}, {"a": 0.8, "b": 0.5, "c": 1.0}):
        assert balancer.weights() == {"a": 1, "b": 1, "c": 1}
        epochs(balancer, [losses])
    # ratios .8, 1, .5; 3 exp(.4) / (exp(.4) + exp(.5) + exp(.25)) = 1.011505
    assert balancer.weights() == pytest.approx({"a": 1.011505, "b": 1.117885, "c": 0.870610}, abs=1e-6)
    found = step(balancer, Toy(a=(1.0, [1.0]), b=(1.0, [1.0]), c=(1.0, [1.0])))
    assert close(found["a"], 1.011505) and close(found["shared"], [3.0])


def test_dwa_goes_by_the_mean_of_an_epoch() -> None:
    balancer = balancer_of("dwa")
    # a falls from a mean of 1 to 1, b from 2 to a mean of 1: ratios 1 and .5
    epochs(balancer, [{"a": 1.4, "b": 2.0}, {"a": 0.6}], [{"a": 1.0, "b": 1.5}, {"b": 0.5}])
    assert balancer.weights() == pytest.approx({"a": 1.124353, "b": 0.875647}, abs=1e-6)


def test_dwa_keeps_the_ratio_of_a_task_that_was_away() -> None:
    balancer = balancer_of("dwa")
    epochs(balancer, [{"a": 1.0, "b": 1.0}], [{"a": 1.0, "b": 0.5}], [{"a": 0.5}])
    # a's ratio is .5 by now, and so was b's
    assert balancer.weights() == {"a": 1, "b": 1}
    # b comes back with the loss it had: 1, while a's falls to half once more
    epochs(balancer, [{"a": 0.25, "b": 0.5}])
    assert balancer.weights() == pytest.approx({"b": 1.124353, "a": 0.875647}, abs=1e-6)


def test_dwa_leaves_a_task_without_a_ratio_at_one() -> None:
    balancer = balancer_of("dwa", "abc")
    epochs(balancer, [{"a": 1.0, "b": 1.0}], [{"a": 1.0, "b": 0.5}])
    assert balancer.weights() == pytest.approx({"a": 1.124353, "b": 0.875647, "c": 1}, abs=1e-6)


def test_dwa_with_a_high_temperature_weighs_all_alike_and_no_ratio_is_too_large() -> None:
    warm, cold = (balancer_of({"name": "dwa", "temperature": t}) for t in (1e6, 1e-3))
    for balancer in (warm, cold):
        epochs(balancer, [{"a": 1e-4, "b": 1.0}], [{"a": 1.0, "b": 1.0}])
    assert warm.weights() == pytest.approx({"a": 1, "b": 1}, abs=0.01)
    assert cold.weights() == {"a": 2, "b": 0}


def test_a_loss_without_a_ratio_is_named() -> None:
    balancer = balancer_of("dwa")
    with pytest.raises(UserError, match=r"^The loss of task 'b' is -0.5; the balancer 'dwa' compares ratios"):
        epochs(balancer, [{"a": 1.0, "b": -0.5}])
    for name in ("famo", "gradnorm"):
        with pytest.raises(UserError, match=f"^The loss of task 'b' is -0.5; the balancer '{name}' compares ratios"):
            step(balancer_of(name), Toy(a=(1.0, [1.0]), b=(-0.5, [1.0])))


# ---- uncertainty --------------------------------------------------------------------------------------


def with_logs(balancer: Balancer, **logs: float) -> Balancer:
    balancer.restore({"logs": {task: {"value": value, "adam": {}} for task, value in logs.items()}})
    return balancer


def derivatives(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the first step: Adam keeps a tenth of them."""
    return {task: each["adam"]["exp_avg"] * 10 for task, each in kept.items()}


def test_uncertainty_weighs_by_the_kind_of_task() -> None:
    balancer = with_logs(balancer_of("uncertainty"), a=0.5, b=-0.5)
    # classify: exp(-.5); score: exp(.5) / 2
    weights = {"a": 0.606531, "b": 0.824361}
    assert balancer.weights() == pytest.approx(weights, abs=1e-6)
    found = step(balancer, Toy(a=(1.2, [1.0, 0.0]), b=(0.8, [0.0, 1.0])))
    assert close(found, {"shared": [0.606531, 0.824361], **weights})
    # .5 - .606531 * 1.2 and .5 - .824361 * .8
    state = balancer.state()["logs"]
    assert close(derivatives(state), {"a": -0.227837, "b": -0.159489})
    # Adam's first step is as long as its rate
    assert state["a"]["value"] == pytest.approx(0.501) and state["b"]["value"] == pytest.approx(-0.499)


def test_uncertainty_in_its_other_form_halves_all() -> None:
    balancer = with_logs(balancer_of({"name": "uncertainty", "form": "half"}), a=0.5, b=-0.5)
    assert balancer.weights() == pytest.approx({"a": 0.303265, "b": 0.824361}, abs=1e-6)


def test_uncertainty_settles_where_the_weighted_loss_is_one_half() -> None:
    balancer = balancer_of({"name": "uncertainty", "learning_rate": 0.05})
    for _ in range(300):
        step(balancer, Toy(a=(1.2, [1.0]), b=(0.1, [1.0])))
    assert balancer.weights() == pytest.approx({"a": 0.5 / 1.2, "b": 5.0}, rel=0.01)


# ---- gradient norms -----------------------------------------------------------------------------------


def test_gradnorm_strengthens_the_weaker_gradient() -> None:
    balancer, toy = balancer_of({"name": "gradnorm", "alpha": 0}), Toy(a=(1.0, [2.0, 0.0]), b=(1.0, [0.0, 1.0]))
    assert close(step(balancer, toy), {"shared": [2, 1], "a": 1, "b": 1})
    # norms 2 and 1, targets 1.5: the derivatives of |2 w - 1.5| and |w - 1.5| are 2 and -1
    assert close(derivatives(balancer.state()["learned"]), {"a": 2, "b": -1})
    assert balancer.weights() == pytest.approx({"a": 0.975, "b": 1.025})
    assert close(step(balancer, toy), {"shared": [1.95, 1.025], "a": 0.975, "b": 1.025})


@pytest.mark.parametrize(("alpha", "expected"), [(0, {"a": 1.2, "b": -1}), (1.5, {"a": -1.2, "b": 1})])
def test_gradnorm_lets_a_task_that_lags_behind_have_the_larger_gradient(
    alpha: float, expected: dict[str, float]
) -> None:
    balancer = balancer_of({"name": "gradnorm", "alpha": alpha})
    fresh = {task: {"value": 1.0, "adam": {}} for task in "ab"}
    balancer.restore({"learned": fresh, "first": {"a": 1.0, "b": 2.0}})
    # losses 1 of 1 and 1 of 2: r = 4/3, 2/3; with alpha 1.5 the targets are 1.1 * 1.5396 = 1.69 and 1.1 * .5443 = .60
    step(balancer, Toy(a=(1.0, [1.2, 0.0]), b=(1.0, [0.0, 1.0])))
    assert close(derivatives(balancer.state()["learned"]), expected)


def test_gradnorm_takes_the_first_loss_it_sees_as_the_start() -> None:
    balancer = balancer_of("gradnorm")
    step(balancer, Toy(a=(3.0, [1.0])), {"a": 1})
    step(balancer, Toy(**CONFLICT))
    assert balancer.state()["first"] == {"a": 3, "b": 0.5}


def test_gradnorm_evens_out_norms_and_keeps_weights_above_zero_and_their_sum() -> None:
    balancer, toy = balancer_of({"name": "gradnorm", "alpha": 0}), Toy(a=(1.0, [30.0, 0.0]), b=(1.0, [0.0, 10.0]))
    for _ in range(200):
        step(balancer, toy)
        assert sum(balancer.weights().values()) == pytest.approx(2)
    # 30 * .5 = 10 * 1.5
    assert balancer.weights() == pytest.approx({"a": 0.5, "b": 1.5}, abs=0.05)
    far = Toy(a=(1.0, [1e4, 0.0]), b=(1.0, [0.0, 1e-4]))
    for _ in range(100):
        step(balancer, far)
        assert min(balancer.weights().values()) > 0 and sum(balancer.weights().values()) == pytest.approx(2)


def test_a_loss_of_zero_does_not_disturb_gradnorm() -> None:
    balancer = balancer_of("gradnorm")
    found = step(balancer, Toy(a=(1.0, [2.0, 0.0]), b=(0.0, [0.0, 0.0])))
    assert close(found["shared"], [2, 0]) and balancer.weights() == {"a": 1, "b": 1}
    assert balancer.state()["first"] == {"a": 1}


# ---- gradient surgery ---------------------------------------------------------------------------------


def textbook_pcgrad(vectors: Sequence[Tensor], orders: Sequence[Sequence[int]]) -> Tensor:
    """Algorithm 1 of Yu et al. 2020 on whole vectors."""
    total = torch.zeros_like(vectors[0])
    for i, order in enumerate(orders):
        g = vectors[i].clone()
        for j in order:
            if j != i and g @ vectors[j] < 0:
                g = g - (g @ vectors[j]) / (vectors[j] @ vectors[j]) * vectors[j]
        total = total + g
    return total


def test_pcgrad_takes_from_each_gradient_what_it_has_against_the_other() -> None:
    # (1, 0) + (-1, 1) / 2 and (-1, 1) + (1, 0); what is a task's own stays as it is
    assert close(step(balancer_of("pcgrad"), Toy(**CONFLICT)), {"shared": [0.5, 1.5], "a": 1, "b": 1})


@pytest.mark.parametrize("name", ["pcgrad", "gradvac"])
def test_gradients_that_do_not_conflict_are_added(name: str) -> None:
    assert close(step(balancer_of(name), Toy(a=(1.0, [1.0, 0.0]), b=(1.0, [2.0, 1.0])))["shared"], [3, 1])
    assert close(step(balancer_of(name), Toy(a=(1.0, [1.0, 0.0]), b=(1.0, [0.0, 0.0])))["shared"], [1, 0])


def test_pcgrad_visits_the_others_in_random_order() -> None:
    vectors = [torch.tensor(vector) for _, vector in THREE.values()]
    assert textbook_pcgrad(vectors, [(0, 1, 2)] * 3).tolist() == [0, -0.5]
    assert textbook_pcgrad(vectors, [(2, 1, 0)] * 3).tolist() == [0.5, 0]
    orders = list(itertools.permutations(range(3)))
    possible = {tuple(textbook_pcgrad(vectors, each).tolist()) for each in itertools.product(orders, repeat=3)}
    balancer = balancer_of("pcgrad", "abc")
    found = {tuple(round(each, 6) for each in step(balancer, Toy(**THREE))["shared"]) for _ in range(60)}
    assert found == possible and len(found) > 1


def test_pcgrad_of_a_real_encoder_is_that_of_its_gradients_as_one_vector() -> None:
    bert, packed = tiny_bert().eval(), packed_of([3, 5, 2])
    shared = list(bert.parameters())
    target_TD = random(10, 32, seed=1)

    def losses() -> dict[str, Tensor]:
        x_TD = bert(packed), bert(packed)
        return {"a": (x_TD[0] - target_TD).square().mean(), "b": (x_TD[1] + target_TD).square().mean()}

    vectors = []
    for loss in losses().values():
        found = torch.autograd.grad(loss, shared, allow_unused=True)
        vectors.append(
            torch.cat(
                [torch.zeros(p.numel()) if g is None else g.flatten() for p, g in zip(shared, found, strict=True)]
            )
        )
    assert vectors[0] @ vectors[1] < 0
    balancer = balancer_of("pcgrad")
    balancer.backward(losses(), 1, shared)
    balancer.finish_step([{task: loss.item() for task, loss in losses().items()}], shared)
    # what no task uses, as the pooler here, has no gradient
    unused = {name for name, parameter in bert.named_parameters() if parameter.grad is None}
    assert unused == {"pooler.weight", "pooler.bias"}
    total = torch.cat([torch.zeros(p.numel()) if p.grad is None else p.grad.flatten() for p in shared])
    torch.testing.assert_close(total, textbook_pcgrad(vectors, [(1,), (0,)]), rtol=1e-4, atol=1e-6)


def test_surgery_adds_to_what_is_there_and_takes_unused_parameters_as_zero() -> None:
    p, q = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(1.0))
    q.grad = torch.tensor(10.0)
    balancer = balancer_of("pcgrad")
    balancer.backward({"a": p + 2 * q, "b": -p}, 1, [p, q])
    assert p.grad is None and q.grad.item() == 10
    balancer.finish_step([{"a": 3.0, "b": -1.0}], [p, q])
    # (1, 2) + (-1, 0) and (-1, 0) + (1, 2) / 5
    assert p.grad is not None
    assert (p.grad.item(), q.grad.item()) == pytest.approx((-0.8, 12.4))


def with_targets(balancer: Balancer, target: float) -> Balancer:
    balancer.restore(balancer.state() | {"targets": {"a": {"b": target}, "b": {"a": target}}})
    return balancer


def test_gradvac_begins_as_pcgrad_and_remembers_how_alike_the_gradients_are() -> None:
    balancer = balancer_of("gradvac")
    assert close(step(balancer, Toy(**CONFLICT))["shared"], [0.5, 1.5])
    # half of the way from 0 to cos = -1 / sqrt(2)
    assert close(balancer.state()["targets"], {"a": {"b": -0.353553}, "b": {"a": -0.353553}})
    step(balancer, Toy(**CONFLICT))
    assert close(balancer.state()["targets"], {"a": {"b": -0.530330}, "b": {"a": -0.530330}})


def test_gradvac_turns_gradients_until_they_are_as_alike_as_usual() -> None:
    balancer = with_targets(balancer_of("gradvac"), 0.5)
    # (1, 0) + .788675 (-1, 1) = (.211325, .788675), and (-1, 1) + 1.577350 (1, 0) = (.577350, 1): cosines of .5
    assert close(step(balancer, Toy(**CONFLICT))["shared"], [0.788675, 1.788675])


def test_gradvac_stays_finite_for_gradients_that_used_to_be_the_same() -> None:
    balancer = with_targets(balancer_of("gradvac"), 1.0)
    assert max(map(abs, step(balancer, Toy(**CONFLICT))["shared"])) < 100


# ---- FAMO ---------------------------------------------------------------------------------------------


def never() -> dict[str, float]:
    raise AssertionError("another forward pass for nothing")


def test_famo_weighs_by_one_over_the_loss_and_moves_towards_what_fell_least() -> None:
    balancer = balancer_of("famo")
    # z = 1/2: c = 1 / (.25 + 1) = .8, weights .8 * .5 / 2 and .8 * .5 / .5
    found = step(balancer, Toy(**CONFLICT), after={"a": 1.8, "b": 0.5})
    assert close(found, {"shared": [-0.6, 0.8], "a": 0.2, "b": 0.8})
    assert balancer.weights() == pytest.approx({"a": 0.2, "b": 0.8})
    # delta = ln(2 / 1.8), 0: z (delta - mean) = .5 * (.105361 - .052680)
    logits = balancer.state()["logits"]
    assert close(derivatives(logits), {"a": 0.026340, "b": -0.026340})
    assert logits["a"]["value"] == pytest.approx(-0.025) and logits["b"]["value"] == pytest.approx(0.025)


def test_famo_draws_its_logits_towards_zero() -> None:
    balancer = balancer_of({"name": "famo", "decay": 0.5})
    logits = {task: {"value": value, "adam": {}} for task, value in (("a", 2.0), ("b", 0.0))}
    balancer.restore({"latest": {}, "logits": logits})
    # both fell alike, so the decay is all there is: .5 * 2 and 0
    step(balancer, Toy(**CONFLICT), after={"a": 1.0, "b": 0.25})
    assert close(derivatives(balancer.state()["logits"]), {"a": 1.0, "b": 0.0})


def test_famo_learns_only_where_it_has_tasks_to_compare() -> None:
    balancer, toy = balancer_of("famo"), Toy(a=(2.0, [1.0]), b=(0.0, [0.0]))
    before = balancer.state()["logits"]
    for tasks in ("a", "b", "ab"):
        losses = {task: toy.loss(task) for task in tasks}
        balancer.backward(losses, 1, [toy.shared])
        balancer.finish_step([{task: loss.item() for task, loss in losses.items()}], [toy.shared])
        balancer.after_step(never)
    # twice a's gradient: b had a loss of 0, and nothing to say
    assert toy.shared.grad is not None and toy.shared.grad.tolist() == [2]
    assert balancer.state()["logits"] == before


# ---- TorchJD: a public implementation of the same -----------------------------------------------------


def random_toy(number: int, width: int = 40) -> Toy:
    """Gradients at random but opposed on the whole; positive losses."""
    base, noise_a, noise_b = random(3, width, seed=number)
    losses = random(2, seed=100 + number).abs() + 0.1
    return Toy(a=(losses[0].item(), (base + noise_a).tolist()), b=(losses[1].item(), (noise_b - base).tolist()))


def jacobian(toy: Toy) -> Tensor:
    return torch.stack(list(toy.vectors.values()))


@pytest.mark.parametrize("name", ["pcgrad", "gradvac"])
def test_surgery_gives_torchjds_numbers(name: str) -> None:
    aggregation = pytest.importorskip("torchjd.aggregation")
    # it draws orders from torch's global generator: with two tasks there is but one
    theirs = {"pcgrad": aggregation.PCGrad, "gradvac": aggregation.GradVac}[name]()
    balancer = balancer_of(name)
    for number in range(6):
        toy = random_toy(number)
        torch.testing.assert_close(torch.tensor(step(balancer, toy)["shared"]), theirs(jacobian(toy)))


def losses_of(toy: Toy) -> Tensor:
    return torch.stack([toy.loss(task) for task in toy.own])


def gradient_of(scalarize: Callable[[Tensor], Tensor], toy: Toy) -> Tensor:
    return torch.autograd.grad(scalarize(losses_of(toy)), toy.shared)[0]


def test_dwa_gives_torchjds_numbers() -> None:
    theirs = pytest.importorskip("torchjd.scalarization").DWA()
    balancer = balancer_of("dwa")
    for number in range(12):
        toy = random_toy(number)
        expected = gradient_of(theirs, toy)
        torch.testing.assert_close(torch.tensor(step(balancer, toy)["shared"]), expected)
        if number % 3 == 2:
            theirs.step()
            balancer.after_epoch()


def test_uncertainty_gives_torchjds_numbers_in_its_form() -> None:
    theirs = pytest.importorskip("torchjd.scalarization").UW(2)
    adam = torch.optim.Adam(theirs.parameters(), lr=0.01)
    balancer = balancer_of({"name": "uncertainty", "form": "half", "learning_rate": 0.01})
    for number in range(6):
        toy = random_toy(number)
        found = step(balancer, toy)
        assert close(found["shared"], gradient_of(theirs, toy).tolist())
        adam.zero_grad()
        theirs(losses_of(toy)).backward()
        adam.step()
    assert [each["value"] for each in balancer.state()["logs"].values()] == pytest.approx(theirs.log_var.tolist())


def test_famo_gives_torchjds_numbers() -> None:
    theirs = pytest.importorskip("torchjd.scalarization").FAMO(2)
    balancer = balancer_of("famo")
    for number in range(6):
        toy, after = random_toy(number), random(2, seed=200 + number).abs() + 0.1
        expected = gradient_of(theirs, toy)
        theirs.update(after)
        found = step(balancer, toy, after=dict(zip("ab", after.tolist(), strict=True)))
        torch.testing.assert_close(torch.tensor(found["shared"]), expected, rtol=1e-4, atol=1e-5)
    (logits,) = theirs.parameters()
    found = [each["value"] for each in balancer.state()["logits"].values()]
    assert found == pytest.approx(logits.tolist(), rel=1e-3)
