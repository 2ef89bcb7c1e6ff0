"""Poolings: numbers worked by hand, gradients, and torch's own operations one sequence at a time."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from minbert.errors import UserError
from minbert.inference.embedder import Embedder, load_encoder
from minbert.model.poolings import POOLINGS
from minbert.model.poolings.attention import AttentionPooling
from tests.test_families import POOLED, close, packed_of, random
from tests.tiny import encoder_of, tiny_bert

LENGTHS = [3, 1, 4]


def attention_of(*weights: float) -> AttentionPooling:
    pooling = AttentionPooling(encoder_of(len(weights)))
    with torch.no_grad():
        pooling.score.weight.copy_(torch.tensor([weights]))
    return pooling


def test_max_takes_the_largest_value_of_each_dimension() -> None:
    x_TD = torch.tensor([[1.0, 6.0], [3.0, 2.0], [-5.0, -7.0]], requires_grad=True)
    pooled_SD = POOLINGS["max"](encoder_of(2))(x_TD, packed_of([2, 1]))
    assert pooled_SD.tolist() == [[3, 6], [-5, -7]]
    pooled_SD.sum().backward()
    # only the tokens that were taken are reached
    assert x_TD.grad is not None and x_TD.grad.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_equal_largest_values_share_the_gradient() -> None:
    x_TD = torch.tensor([[2.0], [2.0], [1.0]], requires_grad=True)
    POOLINGS["max"](encoder_of(1))(x_TD, packed_of([3])).sum().backward()
    assert x_TD.grad is not None and x_TD.grad.tolist() == [[0.5], [0.5], [0]]


def test_max_is_torchs_amax_of_each_sequence() -> None:
    x_TD = random(sum(LENGTHS), 5)
    expected_SD = torch.stack([tokens.amax(0) for tokens in x_TD.split(LENGTHS)])
    assert torch.equal(POOLINGS["max"](encoder_of(5))(x_TD, packed_of(LENGTHS)), expected_SD)


def test_attention_weighs_tokens_by_the_softmax_of_their_scores() -> None:
    # scores w . x are 1 and 0; e / (e + 1) = .731059
    pooled_SD = attention_of(1, 0)(torch.eye(2), packed_of([2]))
    assert close(pooled_SD, [[0.731059, 0.268941]])


def test_attention_is_torchs_softmax_of_each_sequence() -> None:
    pooling, x_TD = attention_of(0.5, -2, 1), random(sum(LENGTHS), 3)
    expected = [pooling.score(tokens).softmax(0).T @ tokens for tokens in x_TD.split(LENGTHS)]
    assert close(pooling(x_TD, packed_of(LENGTHS)), torch.cat(expected))


def test_attention_begins_close_to_the_mean() -> None:
    # another seed than the weights': from the same numbers, they would be made for each other
    x_TD, packed = random(sum(LENGTHS), 64, seed=1), packed_of(LENGTHS)
    torch.manual_seed(0)
    fresh, mean = AttentionPooling(encoder_of(64)), POOLINGS["mean"](encoder_of(64))
    # a score is the sum of 64 products of N(0, 1) and N(0, .02): about .16
    assert close(fresh(x_TD, packed), mean(x_TD, packed), within=0.5)
    assert close(attention_of(*[0.0] * 64)(x_TD, packed), mean(x_TD, packed))


def test_attention_does_not_overflow() -> None:
    # scores 1000 and 0, and -1000 alone
    pooled_SD = attention_of(1000)(torch.tensor([[1.0], [0.0], [-1.0]]), packed_of([2, 1]))
    assert pooled_SD.tolist() == [[1], [-1]]


def test_texts_are_not_embedded_by_weights_that_nobody_learnt(tiny: Path) -> None:
    with pytest.raises(UserError, match="embed: this pooling learns its weights with a task"):
        Embedder(*load_encoder(str(tiny)), "attention")
    with pytest.raises(UserError, match="embed: this pooling reads tokens that a task masks"):
        Embedder(*load_encoder(str(tiny)), "masked_tokens")
    assert Embedder(*load_encoder(str(tiny)), "max").embed(["A text."]).any()


@pytest.mark.parametrize("name", [name for name in POOLED if name != "pooler"])
def test_a_sequence_of_one_token_is_that_token(name: str) -> None:
    x_TD = random(3, 4)
    assert close(POOLINGS[name](encoder_of(4))(x_TD, packed_of([1, 1, 1])), x_TD)


@pytest.mark.parametrize("name", POOLED)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    pooling = POOLINGS[name](encoder_of(3)).double()
    parameters = dict(pooling.named_parameters())

    def pooled(x_TD: Tensor, *values: Tensor) -> Tensor:
        given = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(pooling, given, (x_TD, packed_of(LENGTHS)))

    x_TD = random(sum(LENGTHS), 3).double().requires_grad_()
    assert torch.autograd.gradcheck(pooled, (x_TD, *parameters.values()))


def test_pooler_is_the_encoders_own_and_counted_there() -> None:
    bert = tiny_bert()
    pooler, packed = POOLINGS["pooler"](bert), packed_of(LENGTHS)
    x_TD = random(sum(LENGTHS), 32)
    expected_SD = torch.tanh(x_TD[packed.starts_S] @ bert.pooler.weight.T + bert.pooler.bias)
    assert close(pooler(x_TD, packed), expected_SD)
    assert not list(pooler.parameters())
