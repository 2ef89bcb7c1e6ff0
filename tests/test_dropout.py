"""Dropout from a generator of its own: how much, on average, again, and nothing else."""

import math

import pytest
import torch

from minbert.encoder.dropout import Dropout, DropoutGenerator

RATES = [0.05, 0.1, 0.25, 0.5, 0.9, 0.99]


@pytest.mark.parametrize("rate", RATES)
def test_the_rate_is_met(rate: float) -> None:
    count = 400_000
    kept = DropoutGenerator(1).keep(torch.empty(count), rate)
    assert kept.dtype == torch.bool
    # five standard deviations of a binomial share: a right mask fails this with one seed in a million
    slack = 5 * math.sqrt(rate * (1 - rate) / count)
    assert abs(float(kept.double().mean()) - (1 - rate)) < slack
    # the four elements that share a random number are each dropped at the rate
    for part in kept.view(-1, 4).T:
        assert abs(float(part.double().mean()) - (1 - rate)) < 2 * slack


def test_neighbours_are_dropped_independently() -> None:
    count, rate = 400_000, 0.3
    kept_X = DropoutGenerator(2).keep(torch.empty(count), rate).double()
    for apart in (1, 2, 3, 4, 8):
        both = float((kept_X[apart:] * kept_X[:-apart]).mean())
        assert abs(both - (1 - rate) ** 2) < 5 * math.sqrt(0.25 / count)


@pytest.mark.parametrize("rate", RATES)
def test_the_expectation_is_kept_and_survivors_are_scaled(rate: float) -> None:
    count = 400_000
    y_X = Dropout(rate, DropoutGenerator(3)).train()(torch.full((count,), 2.0))
    # 2 in, so 2 / (1 - rate) or 0 out, and 2 on average
    survivors_X = y_X[y_X != 0]
    torch.testing.assert_close(survivors_X, torch.full_like(survivors_X, 2 / (1 - rate)))
    assert abs(float(y_X.double().mean()) - 2) < 5 * 2 * math.sqrt(rate / (1 - rate) / count)


def test_gradients_pass_where_values_passed() -> None:
    x_X = torch.ones(1000, requires_grad=True)
    y_X = Dropout(0.4, DropoutGenerator(4)).train()(x_X)
    y_X.sum().backward()
    assert torch.equal(x_X.grad, y_X.detach())


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (5, 7), (2, 3, 4, 5)])
def test_every_shape_gets_a_mask_of_its_own_shape(shape: tuple[int, ...]) -> None:
    # four elements share a number: counts that four does not divide must work too
    assert DropoutGenerator(0).keep(torch.empty(shape), 0.5).shape == shape
    # attention gives views that are not contiguous
    flipped = torch.ones(shape).transpose(0, -1)
    assert Dropout(0.5, DropoutGenerator(0)).train()(flipped).shape == flipped.shape


def test_the_same_seed_gives_the_same_masks_and_another_seed_others() -> None:
    x_X = torch.ones(1000)

    def three(seed: int) -> torch.Tensor:
        dropout = Dropout(0.5, DropoutGenerator(seed)).train()
        return torch.stack([dropout(x_X) for _ in range(3)])

    assert torch.equal(three(7), three(7))
    assert not torch.equal(three(7), three(8))
    first_X, second_X, _ = three(7)
    assert not torch.equal(first_X, second_X)


def test_a_restored_generator_goes_on_as_if_never_stopped() -> None:
    x_X = torch.empty(101)
    generator = DropoutGenerator(5)
    generator.keep(x_X, 0.5)
    state = generator.state()
    went_on = [generator.keep(x_X, 0.5) for _ in range(3)]
    # as a resumed run does it: another process, another seed, the saved state
    resumed = DropoutGenerator(99)
    resumed.restore(state)
    assert all(torch.equal(resumed.keep(x_X, 0.5), mask) for mask in went_on)


def test_eval_and_rate_zero_are_the_identity_and_draw_nothing() -> None:
    x_X = torch.randn(50, generator=torch.Generator().manual_seed(0))
    for dropout in (Dropout(0.5, DropoutGenerator(6)).eval(), Dropout(0.0, DropoutGenerator(6)).train()):
        before = dropout.generator.state()
        assert torch.equal(dropout(x_X), x_X)
        assert torch.equal(dropout.generator.state(), before)


def test_the_global_generator_is_neither_read_nor_moved() -> None:
    x_X = torch.ones(1000)
    masks = []
    for seed in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            before = torch.get_rng_state()
            masks.append(Dropout(0.5, DropoutGenerator(6)).train()(x_X))
            assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*masks)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_kind_of_number_stays(dtype: torch.dtype) -> None:
    assert Dropout(0.5, DropoutGenerator(0)).train()(torch.ones(8, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_impossible_rates_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="not at least 0 and below 1"):
        Dropout(rate, DropoutGenerator(0))


def test_rates_next_to_one_drop_nearly_all() -> None:
    # rounded to 1/65536 this rate is 1, which a 16-bit number cannot be compared with
    assert int(DropoutGenerator(0).keep(torch.empty(100_000), 0.999999).sum()) < 20
