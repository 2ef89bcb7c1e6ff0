"""Pairings with attention of their own: by hand, against the other order, and in the sizes of the reports.

T tokens, S sequences, B pairs, D width.
"""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task
from minbert.data.packed import Packed
from minbert.encoder.bert import CONFIGS, Bert
from minbert.model.pairings import PAIRINGS, Pairing
from tests.tiny import one_head_bert, tiny_bert

PAIR = Task("alike", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0))
SINGLE = Task("mood", Path(), kind="score", text=("a",), label="c", range=(0.0, 5.0))
CROSSED = ["cross_attention", "task_attention"]
# two pairs read apart: first texts of 2 and 5 tokens, second ones of 7 and 3
LENGTHS = [2, 5, 7, 3]


def make(spec: Spec, bert: Bert, task: Task = PAIR) -> Pairing:
    return build_technique("pairing", PAIRINGS, spec, "test", bert, task)


def packed_of(lengths: list[int]) -> Packed:
    ids_T = torch.arange(sum(lengths))
    return Packed(ids_T, torch.zeros_like(ids_T), torch.tensor(lengths))


def identity(pairing: Pairing) -> Pairing:
    """Every matrix the identity: what is left is softmax(x y' / sqrt(K)) y."""
    with torch.no_grad():
        for name, parameter in pairing.named_parameters():
            if parameter.ndim > 1:
                eye = torch.eye(2)
                parameter.copy_(torch.cat([eye, eye]) if "key_value" in name else eye)
    return pairing.eval()


HIGH = math.exp(1 / math.sqrt(2)) / (math.exp(1 / math.sqrt(2)) + 1)  # softmax((1, 0) / sqrt 2) = .669762, .330238


def close(found: Tensor, expected: list[list[float]]) -> None:
    torch.testing.assert_close(found.detach(), torch.tensor(expected), atol=1e-6, rtol=0)


def test_cross_attention_is_its_equation() -> None:
    """One text (1, 0), the other (1, 0) and (0, 1)."""
    pairing = identity(make("cross_attention", one_head_bert()))
    x_TD = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    close(pairing(x_TD, packed_of([1, 2])), [[HIGH, 1 - HIGH], [1, 0], [1, 0]])


def test_task_attention_of_single_texts_is_a_weighted_mean_of_their_tokens() -> None:
    pairing = identity(make("task_attention", one_head_bert(), SINGLE))
    close(pairing(torch.eye(2), packed_of([2])), [[HIGH, 1 - HIGH], [1 - HIGH, HIGH]])


@pytest.mark.parametrize("name", CROSSED)
def test_a_pair_meets_only_itself_and_turned_round_it_gives_the_same(name: str) -> None:
    bert = tiny_bert().eval()
    pairing = make(name, bert).eval()
    x_TD = torch.randn(sum(LENGTHS), 32, generator=torch.Generator().manual_seed(0))
    u1, u2, v1, v2 = x_TD.split(LENGTHS)
    with torch.no_grad():
        together = pairing(x_TD, packed_of(LENGTHS)).split(LENGTHS)
        alone = pairing(torch.cat([u2, v2]), packed_of([5, 3])).split([5, 3])
        turned = pairing(torch.cat([v1, v2, u1, u2]), packed_of([7, 3, 2, 5])).split([7, 3, 2, 5])
    torch.testing.assert_close(together[1], alone[0])
    torch.testing.assert_close(together[3], alone[1])
    for found, expected in zip(turned, (together[2], together[3], together[0], together[1]), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", CROSSED)
def test_each_text_is_told_of_the_other(name: str) -> None:
    pairing = make(name, tiny_bert()).eval()
    x_TD = torch.randn(sum(LENGTHS), 32).requires_grad_()
    first_TD = pairing(x_TD, packed_of(LENGTHS)).split(LENGTHS)[0]
    (gradient_TD,) = torch.autograd.grad(first_TD.square().sum(), x_TD)
    # its own tokens ask, those of its partner answer, the other pair is not heard
    assert [bool(part.any()) for part in gradient_TD.split(LENGTHS)] == [True, False, True, False]


@pytest.mark.parametrize("name", CROSSED)
def test_gradients_reach_every_parameter(name: str) -> None:
    pairing = make(name, tiny_bert()).train()
    pairing(torch.randn(sum(LENGTHS), 32), packed_of(LENGTHS)).square().sum().backward()
    for key, parameter in pairing.named_parameters():
        assert parameter.grad is not None, key
        # a bias of the keys adds the same to all scores of a query
        assert parameter.grad.any() or "bias" in key, key


@pytest.mark.parametrize(
    ("layers", "task", "expected"), [(2, SINGLE, 4_718_592), (1, PAIR, 2_949_120), (3, PAIR, 8_847_360)]
)
def test_task_attention_on_bert_base_has_the_sizes_of_the_report(layers: int, task: Task, expected: int) -> None:
    """With a head of 5, a projection of 768 and one of 3072: 4.72M, 3.54M and 11.2M."""
    with torch.device("meta"):
        pairing = make({"name": "task_attention", "layers": layers}, Bert(CONFIGS["base"]), task)
    assert sum(p.numel() for p in pairing.parameters()) == expected
    head = {4_718_592: 5 * 768, 2_949_120: 768 * 768, 8_847_360: 768 * 3072}[expected]
    assert expected + head == {4_718_592: 4_722_432, 2_949_120: 3_538_944, 8_847_360: 11_206_656}[expected]


def test_weights_close_to_each_other_on_demand() -> None:
    pairing = make({"name": "task_attention", "start": "uniform"}, tiny_bert())
    for parameter in pairing.parameters():
        assert 0.9 <= parameter.min() < parameter.max() <= 1


def test_single_texts_pass_through_cross_attention() -> None:
    pairing = make("cross_attention", tiny_bert(), SINGLE)
    x_TD = torch.randn(5, 32)
    assert pairing(x_TD, packed_of([5])) is x_TD
    assert not list(pairing.parameters())
