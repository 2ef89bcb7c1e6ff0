"""Losses: numbers worked by hand, gradients, degenerate batches, and public implementations."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from minbert.errors import UserError
from tests.test_families import ANSWERING_LOSSES, SCORE, classes, close, loss_of, outputs_for, random, tasks_for

# r: deviations (-1, 0, 1) and (-4, -1, 5)/3, so 3 / sqrt(2 * 14/3)
OUTPUT, LABELS, R = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1.0, 2.0, 4.0]), 3 / math.sqrt(28 / 3)


@pytest.mark.parametrize("name", ANSWERING_LOSSES)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    for task in tasks_for(name):
        loss = loss_of(name, task).eval()
        labels_B = torch.tensor([0, 1, 1, 0, 1, 0]) if task.kind == "classify" else torch.arange(6).double() * 0.9
        output_BO = outputs_for(loss).double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x, loss=loss, labels_B=labels_B: loss(x, labels_B), output_BO)
        assert torch.autograd.gradcheck(loss.predict, (0.1 * output_BO).detach().requires_grad_())


# ---- soft labels --------------------------------------------------------------------------------------

# ln(e^2 + e + 1) = 2.407606
LOGITS, NORMALISER = torch.tensor([[2.0, 1.0, 0.0]]), 2.407606


def test_cross_entropy_reads_a_probability_of_each_label() -> None:
    loss = loss_of("cross_entropy", classes(3))
    # .7 of label 0 and .2 of label 1: 2.407606 - .7 * 2 - .2 * 1
    assert close(loss(LOGITS, torch.tensor([[0.7, 0.2, 0.1]]).double()), NORMALISER - 1.6)


def test_soft_labels_with_class_weights_are_a_weighted_mean() -> None:
    loss = loss_of("cross_entropy", classes(3, class_weights=(1.0, 2.0, 4.0)))
    labels_BC = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    # weights .5 * 1 of label 0 and .5 * 2 of label 1, then 4 of label 2
    total = 0.5 * (NORMALISER - 2) + 1 * (NORMALISER - 1) + 4 * NORMALISER
    assert close(loss(LOGITS.expand(2, 3), labels_BC), total / 5.5)


@pytest.mark.parametrize("name", ["cross_entropy", "bce"])
def test_a_batch_without_any_weight_teaches_nothing(name: str) -> None:
    loss = loss_of(name, classes(2, class_weights=(0.0, 1.0)))
    output_BO = random(3, loss.num_outputs).requires_grad_()
    value = loss(output_BO, torch.tensor([0, 0, 0]))
    value.backward()
    assert value == 0 and output_BO.grad is not None and not output_BO.grad.any()


@pytest.mark.parametrize("weights", [None, (1.0, 2.0, 4.0)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_certain_soft_labels_are_hard_labels(weights: Any, smoothing: float) -> None:
    loss = loss_of({"name": "cross_entropy", "label_smoothing": smoothing}, classes(3, class_weights=weights))
    output_BC, labels_B = random(5, 3), torch.tensor([0, 2, 1, 1, 0])
    assert close(loss(output_BC, functional.one_hot(labels_B, 3)), loss(output_BC, labels_B))


# ---- scores -------------------------------------------------------------------------------------------


def test_sigmoid_mse_is_in_the_unit_of_the_scores() -> None:
    loss = loss_of("sigmoid_mse", SCORE)
    # sigmoid 0 = 1/2 and sigmoid ln 4 = 4/5: scores 2.5 and 4
    output_B1 = torch.tensor([[0.0], [math.log(4)]])
    assert close(loss.predict(output_B1), [2.5, 4.0])
    assert close(loss(output_B1, torch.tensor([4.0, 4.5])), (1.5**2 + 0.5**2) / 2)


def test_pearson_is_one_minus_r() -> None:
    output_B1 = OUTPUT.clone().requires_grad_()
    value = loss_of("pearson", SCORE)(output_B1, LABELS)
    value.backward()
    assert close(value, 1 - R)
    # (r x / |x| - y / |y|) / |x| with the deviations x and y
    assert output_B1.grad is not None and close(output_B1.grad[:, 0], [-0.054554, 0.109109, -0.054554])


def test_pearson_agrees_with_numpy_whatever_the_unit() -> None:
    output_B1, labels_B = random(50, 1), random(50, seed=1)
    loss, expected = loss_of("pearson", SCORE), 1 - np.corrcoef(output_B1[:, 0], labels_B)[0, 1]
    assert close(loss(output_B1, labels_B), expected)
    assert close(loss(30 * output_B1 - 7, labels_B), expected)


def test_pearson_mse_adds_the_squared_error() -> None:
    # the error is 1 for one of three
    assert close(loss_of("pearson_mse", SCORE)(OUTPUT, LABELS), 1 - R + 1 / 3)
    assert close(loss_of({"name": "pearson_mse", "weight": 6}, SCORE)(OUTPUT, LABELS), 1 - R + 2)


@pytest.mark.parametrize("name", ["pearson", "pearson_mse", "cosent"])
@pytest.mark.parametrize(
    ("output", "labels"),
    [([3.0], [1.0]), ([1.0, 2.0, 4.0], [3.5, 3.5, 3.5]), ([2.0, 2.0], [2.0, 2.0]), ([2.0, 2.0], [1.0, 3.0])],
    ids=["a batch of one", "equal labels", "all equal", "equal outputs"],
)
def test_a_batch_in_which_nothing_varies_is_no_accident(name: str, output: list[float], labels: list[float]) -> None:
    loss, output_B1 = loss_of(name, SCORE), torch.tensor(output)[:, None].requires_grad_()
    value = loss(output_B1, torch.tensor(labels))
    value.backward()
    assert output_B1.grad is not None and output_B1.grad.norm() <= 1.1e4
    assert value.isfinite() and loss.predict(output_B1).isfinite().all()
    if name != "pearson_mse" and len(set(labels)) == 1:
        assert value == (name == "pearson") and not output_B1.grad.any()
    if len(set(labels)) > 1:
        # downhill is where the second, labelled higher, gets more
        assert output_B1.grad[0] > 0 > output_B1.grad[1]


# ---- answers of losses that know no unit --------------------------------------------------------------


def test_before_any_batch_an_output_is_its_own_answer() -> None:
    assert loss_of("pearson", SCORE).predict(torch.tensor([[1.5], [9.0], [-1.0]])).tolist() == [1.5, 5, 0]


def test_answers_have_the_mean_and_spread_of_the_labels() -> None:
    loss = loss_of("pearson", SCORE)
    loss(torch.tensor([[-10.0], [0.0], [10.0]]), torch.tensor([1.0, 2.0, 3.0]))
    # outputs spread ten times as far around 0 as labels around 2
    assert close(loss.predict(torch.tensor([[0.0], [5.0], [-100.0]])), [2.0, 2.5, 0.0])


def test_first_batches_count_alike() -> None:
    loss: Any = loss_of("cosent", SCORE)
    loss(torch.tensor([[0.0], [2.0]]), torch.tensor([0.0, 1.0]))
    loss(torch.tensor([[4.0], [6.0]]), torch.tensor([2.0, 3.0]))
    # of 0, 2, 4, 6 and of 0, 1, 2, 3
    assert close(loss.mean_2, [3.0, 1.5]) and close(loss.variance_2, [5.0, 1.25])


def test_old_batches_are_forgotten() -> None:
    loss, labels_B = loss_of("pearson", SCORE), torch.tensor([1.0, 3.0])
    loss(torch.tensor([[1000.0], [3000.0]]), labels_B)
    for _ in range(400):
        loss(torch.tensor([[-1.0], [1.0]]), labels_B)
    # .95^381 of the first are left
    assert close(loss.predict(torch.tensor([[-1.0], [0.0], [1.0]])), [1.0, 2.0, 3.0], within=1e-2)


def test_answers_are_learnt_only_while_training_and_are_saved() -> None:
    loss, other = loss_of("pearson", SCORE), loss_of("pearson", SCORE)
    loss(10 * OUTPUT, LABELS)
    expected_B = loss.predict(10 * OUTPUT)
    loss.eval()(-OUTPUT, LABELS)
    other.load_state_dict(loss.state_dict())
    assert torch.equal(loss.predict(10 * OUTPUT), expected_B) and torch.equal(other.predict(10 * OUTPUT), expected_B)


# ---- CoSENT -------------------------------------------------------------------------------------------


def cosent_by_loops(scores: list[float], labels: list[float], scale: float) -> float:
    pairs = [(i, j) for i, a in enumerate(labels) for j, b in enumerate(labels) if a > b]
    return math.log1p(sum(math.exp(scale * (scores[j] - scores[i])) for i, j in pairs))


def test_cosent_counts_every_pair_in_the_wrong_order() -> None:
    loss, labels_B = loss_of("cosent", SCORE), torch.tensor([5.0, 1.0, 3.0])
    # right: the gaps .4, .2, .2 give ln(1 + e^-8 + 2 e^-4); all turned round: ln(1 + e^8 + 2 e^4)
    right, wrong = torch.tensor([[0.9], [0.5], [0.7]]), torch.tensor([[0.5], [0.9], [0.7]])
    assert close(loss(right, labels_B), math.log(1 + math.exp(-8) + 2 * math.exp(-4)))
    assert close(loss(wrong, labels_B), math.log(1 + math.exp(8) + 2 * math.exp(4)), within=1e-5)


def test_cosent_leaves_equal_labels_alone() -> None:
    loss = loss_of({"name": "cosent", "scale": 1}, SCORE)
    # only the third is above the others: by 1 and by 0
    value = loss(torch.tensor([[1.0], [2.0], [2.0]]), torch.tensor([1.0, 1.0, 4.0]))
    assert close(value, math.log(1 + math.exp(-1) + 1))


def test_cosent_does_not_overflow() -> None:
    value = loss_of("cosent", SCORE)(torch.tensor([[1000.0], [0.0]]), torch.tensor([0.0, 1.0]))
    assert value == 20_000


def test_cosent_agrees_with_loops() -> None:
    scores_B, labels_B = random(20).tanh(), torch.arange(20) % 6
    expected = cosent_by_loops(scores_B.tolist(), labels_B.tolist(), 20)
    assert close(loss_of("cosent", SCORE)(scores_B[:, None], labels_B), expected, within=1e-4)


@pytest.mark.slow
def test_cosent_agrees_with_sentence_transformers() -> None:
    public = pytest.importorskip("sentence_transformers.losses", reason="sentence-transformers is not installed")
    u_BD, v_BD, labels_B = random(20, 8), random(20, 8, seed=1), torch.arange(20) % 6
    theirs = public.CoSENTLoss(torch.nn.Identity()).compute_loss_from_embeddings([u_BD, v_BD], labels_B)
    ours = loss_of("cosent", SCORE)(functional.cosine_similarity(u_BD, v_BD)[:, None], labels_B)
    assert close(ours, theirs, within=1e-5)


@pytest.mark.parametrize(("name", "setting"), [("cosent", "scale"), ("pearson_mse", "weight")])
def test_settings_of_zero_are_refused(name: str, setting: str) -> None:
    with pytest.raises(UserError, match=rf"loss '{name}': {setting} 0.0 is not above 0"):
        loss_of({"name": name, setting: 0}, SCORE)


# ---- labels in order ----------------------------------------------------------------------------------

# sigmoids .880797 .731059 .268941 .047426
ORDERED = torch.tensor([[2.0, 1.0, -1.0, -3.0]])


def surprise(z: float) -> float:
    """-ln sigmoid(z)"""
    return math.log1p(math.exp(-z))


def test_ordinal_asks_of_each_threshold_whether_the_label_is_above_it() -> None:
    loss = loss_of("ordinal", classes(5))
    # label 2 is above the first two thresholds and below the others
    expected = surprise(2) + surprise(1) + surprise(1) + surprise(3)
    assert close(loss(ORDERED, torch.tensor([2])), expected)
    assert close(torch.tensor(expected), 0.802039)


def test_ordinal_answers_are_the_differences() -> None:
    expected = [[1 - 0.880797, 0.880797 - 0.731059, 0.731059 - 0.268941, 0.268941 - 0.047426, 0.047426]]
    assert close(loss_of("ordinal", classes(5)).predict(ORDERED), expected, within=1e-5)


def test_ordinal_with_class_weights_is_a_weighted_mean() -> None:
    plain, weighted = (loss_of("ordinal", classes(3, class_weights=w)) for w in (None, (1.0, 1.0, 3.0)))
    output_BO, labels_B = torch.tensor([[1.0, -1.0], [2.0, 0.5]]), torch.tensor([0, 2])
    first, second = (plain(output_BO[i : i + 1], labels_B[i : i + 1]) for i in (0, 1))
    assert close(weighted(output_BO, labels_B), (first + 3 * second) / 4)


@pytest.mark.parametrize("task", [SCORE, classes(2)], ids=["scores", "two labels"])
def test_ordinal_needs_three_labels(task: Any) -> None:
    with pytest.raises(UserError, match="loss 'ordinal': is for tasks with three or more ordered labels"):
        loss_of("ordinal", task)


def test_ordinal_punishes_a_far_miss_more_than_a_near_one() -> None:
    loss = loss_of("ordinal", classes(5))
    # an answer of label 4 for certain
    sure = torch.full((1, 4), 5.0)
    values: list[Tensor] = [loss(sure, torch.tensor([label])) for label in range(5)]
    assert all(far > near for far, near in pairwise(values))
