"""Heads: numbers worked by hand, gradients, the sizes of the reports, and which losses can read them."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from minbert.config.recipe import TaskPlan
from minbert.config.schema import expand_spec
from minbert.config.task import read_task
from minbert.errors import UserError
from minbert.model.heads import HEADS, Head
from minbert.model.multitask import TaskModule
from tests.test_families import ANSWERING_HEADS, BERT, SCORE, classes, close, head_of, packed_of, random

U, V = torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 1.0]])


def put(parameter: nn.Parameter, values: Any) -> None:
    with torch.no_grad():
        parameter.copy_(torch.tensor(values))


def put_layer(layer: nn.Linear, weight: Any, bias: Any) -> None:
    put(layer.weight, weight)
    put(layer.bias, bias)


def size(head: Head) -> int:
    return sum(parameter.numel() for parameter in head.parameters())


# ---- numbers worked by hand ---------------------------------------------------------------------------


def test_relu_reads_only_what_is_above_zero() -> None:
    head = head_of({"name": "relu", "dropout": 0}, width=2, vectors=1)
    put_layer(head.output, [[3.0, 5.0]], [0.5])
    # ReLU (1, -2) = (1, 0)
    assert head(torch.tensor([[1.0, -2.0]])).tolist() == [[3.5]]


def test_difference_turns_its_sign_with_the_order() -> None:
    head = head_of({"name": "difference", "dropout": 0}, width=2)
    put_layer(head.output, [[10.0, 1.0]], [0.5])
    # u - v = (-3, 1)
    assert head(U, V).tolist() == [[-29 + 0.5]] and head(V, U).tolist() == [[29 + 0.5]]


def test_difference_drops_out_of_each_vector_before_it_subtracts() -> None:
    head = head_of({"name": "difference", "dropout": 0.5}, width=64)
    put_layer(head.output, [[1.0] * 64], [0.0])
    ones = torch.ones(200, 64)
    # drop(u) - drop(v) of equal vectors is 2, 0 or -2 in each place; drop(u - v) would be 0 in all
    found = head(ones, ones)
    assert found.any() and (found % 2 == 0).all()
    # each place has variance 2 (of 2 Bernoulli(1/2) - 1 twice), so a sum of 64 has 128
    assert 100 < float(found.detach().var()) < 160
    assert not head.eval()(ones, ones).any()


def test_normed_is_norm_then_relu_then_linear() -> None:
    head = head_of({"name": "normed", "dropout": 0}, width=1)
    put_layer(head.output, [[1.0, 10.0, 100.0]], [0.5])
    # (u, v, u - v) = (2, 1, 1): mean 4/3, deviation sqrt(2)/3, so normed (sqrt 2, -1/sqrt 2, -1/sqrt 2)
    assert close(head(torch.tensor([[2.0]]), torch.tensor([[1.0]])), [[math.sqrt(2) + 0.5]], within=1e-4)


def test_normed_takes_a_single_vector_too() -> None:
    head = head_of({"name": "normed", "dropout": 0}, width=2, vectors=1)
    put_layer(head.output, [[1.0, 10.0]], [0.0])
    # (5, 1): mean 3, deviation 2, so normed (1, -1)
    assert close(head(torch.tensor([[5.0, 1.0]])), [[1.0]], within=1e-4)


@pytest.mark.parametrize(
    ("activation", "of_2", "of_minus_2"),
    [("relu", 2, 0), ("tanh", math.tanh(2), -math.tanh(2)), ("gelu", 1.954500, -0.045500)],
)
def test_two_layer_has_an_activation_between(activation: str, of_2: float, of_minus_2: float) -> None:
    spec = {"name": "two_layer", "dropout": 0, "hidden": 2, "activation": activation}
    head = head_of(spec, width=2, vectors=1)
    put_layer(head.hidden, [[1.0, 0.0], [0.0, 1.0]], [0.0, -3.0])
    put_layer(head.output, [[10.0, 100.0]], [1.0])
    # (2, 1) + (0, -3) = (2, -2)
    assert close(head(torch.tensor([[2.0, 1.0]])), [[10 * of_2 + 100 * of_minus_2 + 1]], within=1e-4)


def test_two_layer_drops_out_before_each_layer() -> None:
    head = head_of({"name": "two_layer", "dropout": 0.5, "hidden": 512}, width=1, vectors=1)
    put_layer(head.hidden, [[1.0]] * 512, [0.0] * 512)
    put_layer(head.output, [[1.0] * 512], [0.0])
    # the one input is 0 or doubled; of the 512 numbers that follow about half are left, doubled again
    kept = {round(head(torch.ones(1, 1)).item() / 4) for _ in range(40)}
    assert 0 in kept and len(kept) > 10 and all(200 < count < 312 for count in kept - {0})


def test_a_raw_cosine_is_in_no_range() -> None:
    head = head_of({"name": "cosine", "scaling": "raw"}, width=2)
    # (1, 2) . (4, 1) / (sqrt 5 sqrt 17) = 6 / sqrt 85; (1, 2) . (-2, 1) = 0; against itself turned round: -1
    found = head(U.expand(3, 2), torch.cat([V, torch.tensor([[-2.0, 1.0], [-1.0, -2.0]])]))
    assert close(found, [[6 / math.sqrt(85)], [0.0], [-1.0]]) and head.output_kind == "cosine"


def test_cosine_drops_out_of_the_vectors_only_while_training() -> None:
    head = head_of({"name": "cosine", "dropout": 0.5}, width=64)
    u, v = random(8, 64, seed=1), random(8, 64, seed=2)
    assert not torch.equal(head(u, v), head(u, v))
    assert close(head.eval()(u, v), head_of("cosine", width=64)(u, v))


def test_dropout_on_the_cosine_makes_it_0_or_larger() -> None:
    head = head_of({"name": "cosine", "dropout": 0.3, "dropout_on": "cosine", "scaling": "raw"}, width=2)
    u, v = U.expand(500, 2), V.expand(500, 2)
    found = head(u, v)
    cosine = 6 / math.sqrt(85)
    dropped = found == 0
    assert close(found[~dropped], torch.full((int((~dropped).sum()),), cosine / 0.7), within=1e-5)
    assert 0.2 < float(dropped.float().mean()) < 0.4
    assert close(head.eval()(U, V), [[cosine]])


def identity(layer: nn.Linear) -> None:
    put_layer(layer, torch.eye(len(layer.weight)).tolist(), [0.0] * len(layer.weight))


def test_projected_cosine_sends_both_vectors_through_both_layers() -> None:
    head = head_of("projected_cosine", width=2)
    identity(head.first)
    identity(head.second)
    # (3, 4) . (4, 3) / 25 = .96, times 5; and of (3, -4) ReLU leaves (3, 0), which has the cosine .6 with (3, 4)
    u, v = torch.tensor([[3.0, 4.0], [3.0, -4.0]]), torch.tensor([[4.0, 3.0], [3.0, 4.0]])
    assert close(head(u, v), [[4.8], [3.0]]) and close(head(v, u), [[4.8], [3.0]])
    # a second layer that keeps only the first number leaves (3, 0) and (4, 0)
    put(head.second.weight, [[1.0, 0.0], [0.0, 0.0]])
    assert close(head(u[:1], v[:1]), [[5.0]])


def test_projected_cosine_untied_has_one_layer_a_side() -> None:
    head = head_of({"name": "projected_cosine", "tied": False}, width=2)
    identity(head.first)
    put_layer(head.second, [[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0])
    # v = (3, 4) becomes (4, 3); v = (-4, -3) becomes (-3, -4), the opposite of u: a cosine below 0 counts as 0
    u = torch.tensor([[3.0, 4.0]] * 2)
    assert close(head(u, torch.tensor([[3.0, 4.0], [-4.0, -3.0]])), [[4.8], [0.0]])


def test_dot_multiplies_the_projections() -> None:
    u, v = U, torch.tensor([[3.0, -1.0]])
    plain = head_of("dot", width=2)
    put(plain.projection.weight, [[1.0, 0.0], [0.0, 1.0]])
    # 1 * 3 - 2 * 1
    assert plain(u, v).tolist() == [[1]]
    narrow = head_of({"name": "dot", "size": 1}, width=2)
    put(narrow.projection.weight, [[1.0, 1.0]])
    # (1 + 2) (3 - 1)
    assert narrow(u, v).tolist() == [[6]]


def test_dot_scaled_and_with_a_bias() -> None:
    head = head_of({"name": "dot", "size": 4, "scaled": True, "bias": True}, width=1)
    put(head.projection.weight, [[1.0]] * 4)
    put(head.bias, [0.25])
    # four times 2 * 3, over sqrt 4
    assert head(torch.tensor([[2.0]]), torch.tensor([[3.0]])).tolist() == [[12.25]]


# ---- thresholds ---------------------------------------------------------------------------------------


def test_ordinal_begins_with_all_labels_equally_likely() -> None:
    head = head_of("ordinal", task=classes(5), vectors=1, outputs=4).eval()
    # the log-odds of .2, .4, .6, .8
    assert close(head.thresholds_O, [-math.log(4), -math.log(1.5), math.log(1.5), math.log(4)])
    assert close(head(torch.zeros(1, 6)).sigmoid(), [[0.8, 0.6, 0.4, 0.2]])


def test_ordinal_compares_one_score_with_every_threshold() -> None:
    head = head_of({"name": "ordinal", "dropout": 0}, task=classes(4), width=2, vectors=1, outputs=3)
    put(head.score.weight, [[2.0, 3.0]])
    put(head.steps_O, [1.0, 0.0, math.log(math.e - 1)])
    # softplus 0 = ln 2 and softplus ln(e - 1) = 1: thresholds 1, 1 + ln 2, 2 + ln 2; the score is 2 + 6
    assert close(head(U), [[7, 7 - math.log(2), 6 - math.log(2)]])


def test_thresholds_stay_in_order_whatever_is_learnt() -> None:
    head = head_of("ordinal", task=classes(5), vectors=1, outputs=4)
    for _ in range(50):
        # pull the highest down and the lowest up
        (gradient_O,) = torch.autograd.grad(head.thresholds_O[3] - head.thresholds_O[0], head.steps_O)
        put(head.steps_O, (head.steps_O - gradient_O).tolist())
        assert all(low <= high for low, high in pairwise(head.thresholds_O.tolist()))
    assert head.thresholds_O[3] - head.thresholds_O[0] < 0.2


# ---- sizes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "vectors", "outputs", "count"),
    [
        ("linear", 1, 5, 5 * 768 + 5),
        ({"name": "linear", "bias": False}, 1, 5, 3840),  # report D, table 3
        ({"name": "linear", "features": ["u", "v"]}, 2, 1, 2 * 768 + 1),
        ("difference", 2, 1, 768 + 1),
        ("relu", 1, 5, 5 * 768 + 5),
        ("normed", 2, 1, 2 * 3 * 768 + 3 * 768 + 1),
        ({"name": "two_layer", "hidden": 10}, 1, 5, 10 * 768 + 10 + 5 * 10 + 5),
        ("cosine", 2, 1, 0),
        ("projected_cosine", 2, 1, 2 * (768 * 768 + 768)),
        ("dot", 2, 1, 768 * 768),  # report D, table 3: .59 million
        ({"name": "dot", "size": 3072}, 2, 1, 768 * 3072),  # 2.36 million
        ("ordinal", 1, 4, 768 + 4),
    ],
)
def test_heads_have_as_many_parameters_as_their_formula(spec: Any, vectors: int, outputs: int, count: int) -> None:
    assert size(head_of(spec, width=768, vectors=vectors, outputs=outputs)) == count


def test_a_size_that_is_left_out_stays_out_of_the_written_recipe() -> None:
    # TOML has no word for None
    assert expand_spec("head", HEADS, "dot", "x.toml") == {"name": "dot", "scaled": False, "bias": False}
    assert expand_spec("head", HEADS, {"name": "dot", "size": 8}, "x.toml") == {
        "name": "dot", "size": 8, "scaled": False, "bias": False
    }  # fmt: skip


# ---- gradients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANSWERING_HEADS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    torch.manual_seed(0)
    head = head_of(name).double().eval()
    parameters = dict(head.named_parameters())

    def output(u_BD: Tensor, v_BD: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(head, dict(zip(parameters, values, strict=True)), (u_BD, v_BD))

    vectors = [random(3, 6, seed=seed).double().requires_grad_() for seed in (1, 2)]
    assert torch.autograd.gradcheck(output, (*vectors, *parameters.values()))


@pytest.mark.parametrize("name", ["cosine", "projected_cosine"])
def test_a_vector_of_zeros_has_a_cosine_of_zero_and_no_endless_gradient(name: str) -> None:
    u, v = torch.zeros(1, 6, requires_grad=True), random(1, 6).requires_grad_()
    output = head_of({"name": name, "scaling": "raw"})(u, v)
    output.sum().backward()
    assert output.tolist() == [[0]]
    assert u.grad is not None and u.grad.isfinite().all() and v.grad is not None and v.grad.isfinite().all()


# ---- heads and losses together ------------------------------------------------------------------------


def apart(**settings: Any) -> TaskPlan:
    return TaskPlan(pairing="bi_encoder", **settings)


@pytest.mark.parametrize(
    ("task", "plan"),
    [
        # A, extended
        (read_task("sst"), TaskPlan(head={"name": "relu", "dropout": 0.3})),
        (read_task("quora"), apart(pooling="attention", head={"name": "normed", "dropout": 0.3}, loss="bce")),
        (read_task("sts"), apart(pooling="attention", head={"name": "cosine", "dropout": 0.3})),
        # A, basic
        (read_task("quora"), apart(head={"name": "difference", "dropout": 0.3}, loss="bce")),
        (read_task("sts"), apart(head={"name": "difference", "dropout": 0.3})),
        # B
        (read_task("sts"), TaskPlan(pairing="cross_encoder", pooling="cls", loss="sigmoid_mse")),
        # C
        (read_task("quora"), apart(head={"name": "linear", "features": ["u", "v"], "dropout": 0.3}, loss="bce")),
        (read_task("sts"), apart(head={"name": "cosine", "scaling": "sigmoid"})),
        # D
        (read_task("quora"), apart(head={"name": "dot", "size": 768}, loss="bce")),
        (read_task("sts"), apart(head={"name": "dot", "size": 3072}, loss="pearson")),
        (read_task("sst"), TaskPlan(head="ordinal", loss="ordinal")),
        # E
        (read_task("sts"), apart(pooling="max", head="projected_cosine")),
        # none of them
        (read_task("sts"), apart(head={"name": "cosine", "scaling": "raw"}, loss="cosent")),
        (read_task("sts"), TaskPlan(head="two_layer", loss="pearson_mse")),
    ],
    ids=str,
)
def test_the_reports_combinations_learn_and_answer(task: Any, plan: TaskPlan) -> None:
    parts = TaskModule(BERT, task, plan, "x.toml")
    output_BO = parts(random(8, 8), packed_of([3, 1, 2, 2]))
    labels_B = torch.arange(len(output_BO)) % 2
    loss = parts.loss(output_BO, labels_B)
    assert loss.isfinite() and parts.loss.predict(output_BO).isfinite().all()
    if list(parts.parameters()):
        loss.backward()


@pytest.mark.parametrize(
    ("task", "plan", "reason"),
    [
        (
            classes(5),
            TaskPlan(head="ordinal"),
            "task 'some': the head 'ordinal' outputs ordinal logits, which the loss 'cross_entropy' does not accept.\n"
            "Use another loss, or a head that outputs logits.",
        ),
        (
            classes(5),
            TaskPlan(loss="ordinal"),
            "task 'some': the head 'linear' outputs logits, which the loss 'ordinal' does not accept.\n"
            "Use another loss, or a head that outputs ordinal logits.",
        ),
        (
            SCORE,
            apart(head={"name": "cosine", "scaling": "raw"}),
            "task 'alike': the head 'cosine' outputs a cosine, which the loss 'mse' does not accept.\n"
            "Use another loss, or a head that outputs logits or a score within the task's range.",
        ),
        (
            SCORE,
            apart(head="projected_cosine", loss="sigmoid_mse"),
            "task 'alike': the head 'projected_cosine' outputs a score within the task's range, "
            "which the loss 'sigmoid_mse' does not accept.\n"
            "Use another loss, or a head that outputs logits.",
        ),
        (
            SCORE,
            TaskPlan(pairing="cross_encoder", head="difference"),
            "task 'alike': head 'difference': needs two vectors: "
            'set pairing = "bi_encoder", or use the head "linear"',
        ),
        (
            classes(2),
            apart(head="dot"),
            "task 'some': head 'dot': outputs one number, but the loss needs 2: use another head, or the loss 'bce'",
        ),
        (
            SCORE,
            apart(head={"name": "dot", "size": 0}),
            "task 'alike': head 'dot': size must be at least 1, not 0",
        ),
        (
            SCORE,
            apart(head={"name": "two_layer", "hidden": -1}),
            "task 'alike': head 'two_layer': hidden must be at least 1, not -1",
        ),
        (
            SCORE,
            TaskPlan(loss="pearson", batch_size=1),
            "task 'alike': the loss 'pearson' compares the examples of a batch with each other.\n"
            "Set batch_size to 2 or more.",
        ),
    ],
)
def test_heads_and_losses_that_do_not_fit_are_refused_by_name(task: Any, plan: TaskPlan, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        TaskModule(BERT, task, plan, "x.toml")
    assert str(caught.value) == f"x.toml: {reason}"
