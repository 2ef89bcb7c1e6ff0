"""One contract for each family, run over its whole dict, and the numbers of its members worked by hand."""

import math
import re
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from minbert.config.recipe import TaskPlan
from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task, read_task
from minbert.data.batch import Layout
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, BertConfig
from minbert.errors import UserError
from minbert.model.heads import HEADS
from minbert.model.heads.base import HeadContext, OutputKind
from minbert.model.heads.features import FEATURES
from minbert.model.heads.linear import LinearHead
from minbert.model.losses import DEFAULT_LOSSES, LOSSES
from minbert.model.losses.base import Loss
from minbert.model.multitask import TaskModule
from minbert.model.pairings import PAIRINGS
from minbert.model.poolings import POOLINGS
from minbert.training.registry import FAMILIES, Technique, list_techniques
from tests.tiny import encoder_of

# tests/test_objectives.py has what only trains the encoder
POOLED = [name for name in POOLINGS if name != "masked_tokens"]
ANSWERING_HEADS = [name for name in HEADS if name not in ("mlm", "vectors")]
ANSWERING_LOSSES = [name for name in LOSSES if name not in ("mlm", "contrastive")]
WIDTH = 6
LENGTHS = [3, 1, 5, 2]


def classes(count: int, **settings: Any) -> Task:
    return Task("some", Path(), kind="classify", text=("a", "b"), label="c", labels=tuple(range(count)), **settings)


SCORE = Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0))


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def packed_of(lengths: list[int]) -> Packed:
    ids_T = torch.arange(sum(lengths))
    return Packed(ids_T, torch.zeros_like(ids_T), torch.tensor(lengths))


def close(actual: Tensor, expected: Any, within: float = 1e-6) -> bool:
    return torch.allclose(actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=0, atol=within)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Fresh parts draw their weights from torch's global generator."""
    torch.manual_seed(0)


# ---- descriptions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", list_techniques(), ids=lambda each: f"{each.family} {each.name}")
def test_every_technique_is_described_by_a_plain_sentence_of_its_own(each: Technique) -> None:
    assert FAMILIES[each.family][each.name].__dict__["__doc__"], "a docstring of the class, not of its module"
    assert re.fullmatch(r"[A-Z1][^.]*(\([^)]*\))?\.", each.about), each.about
    assert len([other for other in list_techniques() if other.about == each.about]) == 1


# ---- poolings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POOLED)
def test_a_sequence_is_pooled_to_the_same_vector_alone_and_among_others(name: str) -> None:
    pooling = build_technique("pooling", POOLINGS, name, "test", encoder_of(WIDTH)).eval()
    x_TD = random(sum(LENGTHS), WIDTH)
    together_SD = pooling(x_TD, packed_of(LENGTHS))
    assert together_SD.shape == (len(LENGTHS), WIDTH)
    for i, tokens in enumerate(x_TD.split(LENGTHS)):
        assert close(pooling(tokens, packed_of([len(tokens)])), together_SD[i : i + 1])


@pytest.mark.parametrize("name", POOLED)
def test_gradients_reach_the_tokens_of_every_sequence_and_of_no_other(name: str) -> None:
    pooling = build_technique("pooling", POOLINGS, name, "test", encoder_of(WIDTH))
    x_TD = random(sum(LENGTHS), WIDTH).requires_grad_()
    vectors_SD = pooling(x_TD, packed_of(LENGTHS))
    for i in range(len(LENGTHS)):
        (gradient_TD,) = torch.autograd.grad(vectors_SD[i].square().sum(), x_TD, retain_graph=True)
        reached = [bool(part.any()) for part in gradient_TD.split(LENGTHS)]
        assert reached == [j == i for j in range(len(LENGTHS))]


def test_cls_takes_the_first_token_and_mean_the_mean_of_all() -> None:
    x_TD = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])
    packed = packed_of([2, 1])
    assert POOLINGS["cls"](encoder_of(2))(x_TD, packed).tolist() == [[1, 2], [5, 7]]
    assert POOLINGS["mean"](encoder_of(2))(x_TD, packed).tolist() == [[2, 4], [5, 7]]


# ---- pairings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIRINGS)
def test_a_pairing_has_a_layout_and_keeps_one_vector_a_token(name: str) -> None:
    pairing = build_technique("pairing", PAIRINGS, name, "test", encoder_of(WIDTH), SCORE)
    assert pairing.layout in get_args(Layout)
    x_TD = random(sum(LENGTHS), WIDTH)
    assert pairing(x_TD, packed_of(LENGTHS)).shape == x_TD.shape


def test_pairs_are_read_in_one_sequence_or_in_two() -> None:
    assert PAIRINGS["cross_encoder"](encoder_of(WIDTH), SCORE).layout == "cross_encoder"
    assert PAIRINGS["bi_encoder"](encoder_of(WIDTH), SCORE).layout == "bi_encoder"


# ---- heads --------------------------------------------------------------------------------------------


def head_of(spec: Spec, task: Task = SCORE, width: int = WIDTH, vectors: int = 2, outputs: int = 1) -> Any:
    return build_technique("head", HEADS, spec, "test", HeadContext(task, encoder_of(width), vectors, outputs))


@pytest.mark.parametrize("name", ANSWERING_HEADS)
def test_an_example_gets_the_same_output_alone_and_among_others(name: str) -> None:
    head = head_of(name).eval()
    u_BD, v_BD = random(4, WIDTH, seed=1), random(4, WIDTH, seed=2)
    together_BO = head(u_BD, v_BD)
    assert together_BO.shape == (4, 1) and head.output_kind in get_args(OutputKind)
    for i in range(4):
        assert close(head(u_BD[i : i + 1], v_BD[i : i + 1]), together_BO[i : i + 1])


@pytest.mark.parametrize("name", ANSWERING_HEADS)
def test_gradients_reach_both_vectors_and_every_parameter_of_a_head(name: str) -> None:
    head = head_of(name)
    vectors = [random(4, WIDTH, seed=seed).requires_grad_() for seed in (1, 2)]
    head(*vectors).square().sum().backward()
    for reached in [*vectors, *head.parameters()]:
        assert reached.grad is not None and reached.grad.any()


def test_linear_lays_the_features_side_by_side_in_the_order_named() -> None:
    head = head_of({"name": "linear", "features": ["u*v", "|u-v|", "v"], "dropout": 0}, width=2)
    assert isinstance(head, LinearHead)
    with torch.no_grad():
        head.output.weight.copy_(torch.tensor([[1.0, 10, 100, 1000, 1e4, 1e5]]))
        head.output.bias.fill_(0.5)
    # u = (1, 2), v = (4, 1): u*v = (4, 2), |u-v| = (3, 1), v = (4, 1)
    output = head(torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 1.0]]))
    assert output.tolist() == [[4 + 20 + 300 + 1000 + 4e4 + 1e5 + 0.5]]


def test_each_feature_is_what_its_name_says() -> None:
    u, v = torch.tensor([[1.0, 2.0]]), torch.tensor([[4.0, 1.0]])
    found = {name: feature(u, v).tolist() for name, feature in FEATURES.items()}
    assert found == {"u": [[1, 2]], "v": [[4, 1]], "u-v": [[-3, 1]], "|u-v|": [[3, 1]], "u*v": [[4, 2]]}


def test_linear_takes_a_single_vector_as_it_is() -> None:
    head = head_of("linear", task=classes(3), vectors=1, outputs=3)
    assert head.output.weight.shape == (3, WIDTH)
    assert head(random(2, WIDTH)).shape == (2, 3)


def test_linear_drops_out_only_while_training() -> None:
    head = head_of({"name": "linear", "dropout": 0.5})
    u, v = random(8, WIDTH, seed=1), random(8, WIDTH, seed=2)
    assert not torch.equal(head(u, v), head(u, v))
    head.eval()
    assert torch.equal(head(u, v), head(u, v))


def test_an_unknown_feature_is_named() -> None:
    with pytest.raises(UserError) as caught:
        head_of({"name": "linear", "features": ["|u-w|"]})
    assert str(caught.value) == "test: head 'linear': unknown feature '|u-w|'. Did you mean '|u-v|'?"


@pytest.mark.parametrize(
    ("scaling", "at_1", "at_0", "at_minus_1"),
    [
        ("shift", 5, 2.5, 0),
        ("relu", 5, 0, 0),
        ("sigmoid", 5 / (1 + math.exp(-1)), 2.5, 5 / (1 + math.e)),
    ],
)
def test_cosine_is_scaled_to_the_range_of_the_scores(scaling: str, at_1: float, at_0: float, at_minus_1: float) -> None:
    head = head_of({"name": "cosine", "scaling": scaling}, width=2)
    u_BD = torch.tensor([[1.0, 2.0]] * 3)
    v_BD = torch.tensor([[3.0, 6.0], [-2.0, 1.0], [-0.5, -1.0]])
    assert close(head(u_BD, v_BD), [[at_1], [at_0], [at_minus_1]])
    assert not list(head.parameters())


def test_cosine_respects_a_range_that_does_not_begin_at_zero() -> None:
    task = Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(-2.0, 4.0))
    vectors = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert close(head_of("cosine", task, width=2)(*vectors), [[1.0]])


# ---- losses -------------------------------------------------------------------------------------------


def loss_of(spec: Spec, task: Task) -> Loss:
    return build_technique("loss", LOSSES, spec, "test", task)


def tasks_for(name: str) -> list[Task]:
    """The tasks that a loss accepts; every loss is of some use."""
    accepted = []
    for task in (classes(2), classes(5), SCORE):
        try:
            loss_of(name, task)
            accepted.append(task)
        except UserError:
            continue
    assert accepted
    return accepted


def outputs_for(loss: Loss) -> Tensor:
    """Six examples as a head could give them."""
    output_BO = random(6, loss.num_outputs)
    return output_BO.sort(1, descending=True).values if "ordinal_logits" in loss.accepts else output_BO


@pytest.mark.parametrize("name", ANSWERING_LOSSES)
def test_a_loss_is_a_mean_over_examples_and_falls_against_its_gradient(name: str) -> None:
    for task in tasks_for(name):
        loss = loss_of(name, task)
        output_BO = outputs_for(loss).requires_grad_()
        labels_B = torch.tensor([0, 1, 1, 0, 1, 0]) if task.kind == "classify" else torch.arange(6).double() * 0.9
        value = loss(output_BO, labels_B)
        assert value.shape == () and value >= 0
        if not loss.across_examples:
            singles = [loss(output_BO[i : i + 1], labels_B[i : i + 1]) for i in range(6)]
            assert close(value, torch.stack(singles).mean())
        value.backward()
        assert output_BO.grad is not None
        with torch.no_grad():
            assert loss(output_BO - 0.1 * output_BO.grad, labels_B) < value


@pytest.mark.parametrize("name", ANSWERING_LOSSES)
def test_answers_are_probabilities_or_scores_within_the_range(name: str) -> None:
    for task in tasks_for(name):
        loss = loss_of(name, task)
        answers = loss.predict(100 * outputs_for(loss))
        if task.kind == "classify":
            assert answers.shape == (6, len(task.labels))
            assert close(answers.sum(1), torch.ones(6)) and answers.min() >= 0
        else:
            assert answers.shape == (6,) and answers.min() >= 0 and answers.max() <= 5


def test_the_default_loss_of_each_kind_accepts_its_tasks() -> None:
    assert classes(5) in tasks_for(DEFAULT_LOSSES["classify"]) and SCORE in tasks_for(DEFAULT_LOSSES["score"])


# two examples, probabilities (1/4, 3/4) and (1/2, 1/2)
LOGITS = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]])


def test_cross_entropy_is_the_mean_surprise() -> None:
    assert close(loss_of("cross_entropy", classes(2))(LOGITS, torch.tensor([0, 1])), (math.log(4) + math.log(2)) / 2)


def test_cross_entropy_with_class_weights_is_a_weighted_mean() -> None:
    loss = loss_of("cross_entropy", classes(2, class_weights=(3.0, 1.0)))
    # 3 * ln 4 for label 0, 1 * ln 2 for label 1, over the weights 3 + 1
    assert close(loss(LOGITS, torch.tensor([0, 1])), (3 * math.log(4) + math.log(2)) / 4)


def test_cross_entropy_with_label_smoothing_spreads_a_share_over_all_labels() -> None:
    loss = loss_of({"name": "cross_entropy", "label_smoothing": 0.2}, classes(2))
    # the target of label 0 is (.9, .1): .9 ln 4 + .1 ln (4/3); of label 1 with even odds: ln 2
    expected = (0.9 * math.log(4) + 0.1 * math.log(4 / 3) + math.log(2)) / 2
    assert close(loss(LOGITS, torch.tensor([0, 1])), expected)


def test_balanced_weights_that_are_not_known_yet_weigh_nothing() -> None:
    plain, balanced = (loss_of("cross_entropy", task) for task in (classes(2), classes(2, class_weights="balanced")))
    assert balanced(LOGITS, torch.tensor([0, 1])) == plain(LOGITS, torch.tensor([0, 1]))


@pytest.mark.parametrize("weights", [None, (1.0, 4.0)])
def test_binary_cross_entropy_is_cross_entropy_with_the_logits_zero_and_z(weights: Any) -> None:
    task = classes(2, class_weights=weights)
    z_B1, labels_B = 3 * random(8, 1), torch.tensor([0, 1, 1, 0, 1, 0, 0, 0])
    both_B2 = torch.cat([torch.zeros(8, 1), z_B1], 1)
    bce, cross_entropy = loss_of("bce", task), loss_of("cross_entropy", task)
    assert close(bce(z_B1, labels_B), cross_entropy(both_B2, labels_B))
    assert close(bce.predict(z_B1), cross_entropy.predict(both_B2))


def test_binary_cross_entropy_with_class_weights_worked_by_hand() -> None:
    loss = loss_of("bce", classes(2, class_weights=(1.0, 3.0)))
    # z = ln 3: label 1 has 3/4. (1 * ln 4 + 3 * ln (4/3)) / (1 + 3)
    value = loss(torch.full((2, 1), math.log(3)), torch.tensor([0, 1]))
    assert close(value, (math.log(4) + 3 * math.log(4 / 3)) / 4)


def test_mean_squared_error_is_in_the_unit_of_the_scores() -> None:
    loss = loss_of("mse", SCORE)
    output_B1 = torch.tensor([[1.0], [7.0]])
    assert loss(output_B1, torch.tensor([2.0, 5.0])) == (1 + 4) / 2
    assert loss.predict(output_B1).tolist() == [1, 5]


# ---- combinations that make no sense are refused by name ----------------------------------------------

BERT = Bert(
    BertConfig(
        num_hidden_layers=1,
        hidden_size=8,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=30,
        max_position_embeddings=16,
    )
)


@pytest.mark.parametrize(
    ("task", "plan", "reason"),
    [
        (
            SCORE,
            TaskPlan(head="cosine", pairing="cross_encoder"),
            "x.toml: task 'alike': head 'cosine': needs two vectors: "
            'set pairing = "bi_encoder", or use the head "linear"',
        ),
        (
            classes(2),
            TaskPlan(head="cosine", pairing="bi_encoder"),
            "x.toml: task 'some': head 'cosine': outputs a score, but the task is of kind \"classify\": "
            'use the head "linear"',
        ),
        (
            classes(5),
            TaskPlan(loss="bce"),
            "x.toml: task 'some': loss 'bce': is for tasks with two labels; use the loss 'cross_entropy'",
        ),
        (
            classes(2),
            TaskPlan(loss="mse"),
            "x.toml: task 'some': loss 'mse': is for tasks of kind \"score\"; use the loss 'cross_entropy'",
        ),
        (
            SCORE,
            TaskPlan(loss="cross_entropy"),
            "x.toml: task 'alike': loss 'cross_entropy': is for tasks of kind \"classify\"; use the loss 'mse'",
        ),
        (
            SCORE,
            TaskPlan(loss="bce"),
            "x.toml: task 'alike': loss 'bce': is for tasks with two labels; use the loss 'cross_entropy'",
        ),
        (
            SCORE,
            TaskPlan(pooling="men"),
            "x.toml: task 'alike': unknown pooling 'men'. Did you mean 'mean'?",
        ),
    ],
)
def test_a_combination_that_makes_no_sense_is_refused_by_name(task: Task, plan: TaskPlan, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        TaskModule(BERT, task, plan, "x.toml")
    assert str(caught.value) == reason


@pytest.mark.parametrize("pooling", POOLED)
@pytest.mark.parametrize("pairing", [name for name in PAIRINGS if name != "simcse"])
@pytest.mark.parametrize("task", [read_task("sst"), classes(2), SCORE], ids=lambda task: task.name)
def test_every_pairing_pooling_and_kind_of_task_fit_together(task: Task, pairing: str, pooling: str) -> None:
    parts = TaskModule(BERT, task, TaskPlan(pairing=pairing, pooling=pooling), "x.toml")
    # six sequences are as many examples, or pairs of two or three sequences each
    lengths = [*LENGTHS, 4, 2]
    each = {"bi_encoder": 2, "combined": 3}.get(parts.layout, 1) if task.paired else 1
    output_BO = parts(random(sum(lengths), 8), packed_of(lengths))
    assert output_BO.shape == (6 // each, parts.loss.num_outputs)
