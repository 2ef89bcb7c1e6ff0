"""Samplers: one contract over the whole dict, and the shares of each worked by hand."""

import json
import math
from collections import Counter
from typing import Any

import pytest

from minbert.config.schema import Spec, build_technique
from minbert.errors import UserError
from minbert.training.samplers import SAMPLERS, Sampler, StageSizes
from minbert.training.samplers.annealed import AnnealedSampler
from minbert.training.samplers.prioritized import PrioritizedSampler
from minbert.training.samplers.weighted_base import WeightedSampler

# what a sampler cannot be made without
SPECS: dict[str, Spec] = {name: name for name in SAMPLERS} | {"fixed": {"name": "fixed", "weights": {"a": 3, "b": 1}}}
RANDOM = ["annealed", "fixed", "prioritized", "proportional", "square_root"]


def sampler_of(spec: Spec, seed: int = 0, epochs: int = 10, **sizes: int) -> Any:
    """Tasks of these sizes in batches of 4; left out: a has 1 example, b has 16."""
    sizes = sizes or {"a": 1, "b": 16}
    supply = StageSizes(sizes, {task: -(-size // 4) for task, size in sizes.items()}, epochs)
    return build_technique("sampler", SAMPLERS, spec, "x.toml: stage 0", supply, seed)


def shares_of(sampler: WeightedSampler) -> dict[str, float]:
    return dict(zip(sampler.tasks, sampler.probabilities.tolist(), strict=True))


def drawn(sampler: Sampler, count: int) -> list[tuple[str, ...]]:
    return [sampler.draw() for _ in range(count)]


def refused(spec: Spec, **sizes: int) -> str:
    with pytest.raises(UserError) as caught:
        sampler_of(spec, **sizes)
    return str(caught.value)


# ---- the contract -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_draw_names_tasks_of_the_stage_and_an_epoch_has_draws(name: str) -> None:
    sampler = sampler_of(SPECS[name])
    sampler.begin_epoch(1)
    assert sampler.draws_per_epoch >= 1
    for tasks in drawn(sampler, 20):
        assert tasks and set(tasks) <= {"a", "b"} and len(set(tasks)) == len(tasks)


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_seed_decides_the_draws(name: str) -> None:
    one, same, other = (drawn(sampler_of(SPECS[name], seed), 60) for seed in (3, 3, 4))
    assert one == same
    assert (one != other) == (name in RANDOM)


@pytest.mark.parametrize("stopped_after", [0, 1, 7])
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_restored_sampler_goes_on_as_if_it_had_never_stopped(name: str, stopped_after: int) -> None:
    def later(sampler: Sampler) -> list[Any]:
        """The rest of the second epoch, then the third."""
        rest = drawn(sampler, 9)
        sampler.observe({"a": 0.7, "b": 0.9}, {"a": 0.6, "b": 0.4})
        sampler.begin_epoch(3)
        return [rest, drawn(sampler, 30)]

    sampler = sampler_of(SPECS[name])
    sampler.begin_epoch(1)
    drawn(sampler, 4)
    sampler.observe({"a": 0.9, "b": 0.8}, {"a": 0.5, "b": 0.7})
    sampler.begin_epoch(2)
    drawn(sampler, stopped_after)
    state = json.loads(json.dumps(sampler.state()))
    expected = later(sampler)
    # made anew, as when a run is taken up: no epoch is begun
    other = sampler_of(SPECS[name])
    other.restore(state)
    assert later(other) == expected


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_state_stays_as_it_was_taken(name: str) -> None:
    sampler = sampler_of(SPECS[name])
    state = sampler.state()
    kept = json.dumps(state)
    drawn(sampler, 5)
    sampler.observe({"a": 0.9, "b": 0.8}, {"a": 0.5, "b": 0.7})
    assert json.dumps(state) == kept


def test_only_prioritized_wants_scores() -> None:
    assert [name for name in SAMPLERS if sampler_of(SPECS[name]).wants_scores] == ["prioritized"]


# ---- by size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "share"),
    [
        ("proportional", 1 / 17),
        ({"name": "proportional", "exponent": 0}, 1 / 2),
        ({"name": "proportional", "exponent": 0.5}, 1 / 5),
        ("square_root", 1 / 5),
    ],
)
def test_a_task_is_drawn_by_a_power_of_its_size(spec: Spec, share: float) -> None:
    # of sizes 1 and 16: 1 / (1 + 16), 1 / (1 + 1), 1 / (1 + 4)
    assert shares_of(sampler_of(spec)) == pytest.approx({"a": share, "b": 1 - share})


def test_draws_follow_the_shares() -> None:
    counts = Counter(tasks for tasks in drawn(sampler_of("square_root"), 4000))
    # one in five, give or take three standard deviations: 3 sqrt(.2 .8 / 4000) = .019
    assert counts[("a",)] / 4000 == pytest.approx(0.2, abs=0.019)


def test_huge_sizes_do_not_overflow() -> None:
    sampler = sampler_of({"name": "proportional", "exponent": 50}, a=10**9, b=2 * 10**9)
    assert shares_of(sampler) == pytest.approx({"a": 1 / (1 + 2**50), "b": 1})


def test_the_annealed_exponent_falls_in_a_line_over_the_epochs() -> None:
    sampler = sampler_of("annealed", epochs=10)
    assert isinstance(sampler, AnnealedSampler)
    # 1 - .8 (e - 1) / 9
    expected = [1, 0.9111, 0.8222, 0.7333, 0.6444, 0.5556, 0.4667, 0.3778, 0.2889, 0.2]
    assert [sampler.exponent(epoch) for epoch in range(1, 11)] == pytest.approx(expected, abs=5e-5)


def test_annealed_shares_of_the_courses_three_tasks() -> None:
    sampler = sampler_of("annealed", epochs=10, sst=8544, quora=141498, sts=6040)
    expected = {1: (0.0547, 0.9066, 0.0387), 5: (0.1265, 0.7723, 0.1012), 10: (0.2713, 0.4756, 0.2531)}
    for epoch, shares in expected.items():
        sampler.begin_epoch(epoch)
        assert list(shares_of(sampler).values()) == pytest.approx(shares, abs=5e-5)


def test_annealed_begins_by_size_and_ends_where_it_is_told() -> None:
    sampler = sampler_of({"name": "annealed", "start": 0.5, "end": 0}, epochs=2)
    for epoch, share in ((1, 1 / 5), (2, 1 / 2)):
        sampler.begin_epoch(epoch)
        assert shares_of(sampler)["a"] == pytest.approx(share)


def test_annealed_over_a_single_epoch_stays_at_its_start() -> None:
    sampler = sampler_of("annealed", epochs=1)
    sampler.begin_epoch(1)
    assert shares_of(sampler)["a"] == pytest.approx(1 / 17)


# ---- fixed --------------------------------------------------------------------------------------------


def test_fixed_weights_are_shares_of_their_sum() -> None:
    sampler = sampler_of({"name": "fixed", "weights": {"b": 1, "a": 3}})
    assert shares_of(sampler) == {"a": 0.75, "b": 0.25}
    assert set(drawn(sampler_of({"name": "fixed", "weights": {"a": 1, "b": 0}}), 50)) == {("a",)}


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ({"quora": 1, "sst": 1, "stss": 1}, "the stage has no task 'stss'. Did you mean 'sts'?"),
        ({"quora": 1, "sst": 1}, "there is no weight for the task 'sts'"),
        ({"quora": 1, "sst": 1, "sts": -1}, "needs weights of 0 or more, and one above 0"),
        ({"quora": 0, "sst": 0, "sts": 0}, "needs weights of 0 or more, and one above 0"),
    ],
)
def test_weights_that_do_not_fit_the_stage_are_refused(weights: dict[str, float], reason: str) -> None:
    said = refused({"name": "fixed", "weights": weights}, sst=1, quora=2, sts=3)
    assert said == f"x.toml: stage 0: sampler 'fixed': {reason}"


# ---- prioritized --------------------------------------------------------------------------------------

TRAIN = {"sst": 0.90, "quora": 0.88, "sts": 0.98}
DEV = {"sst": 0.50, "quora": 0.84, "sts": 0.60}


def prioritized(epochs: int = 4, **settings: Any) -> PrioritizedSampler:
    sampler = sampler_of({"name": "prioritized", **settings}, epochs=epochs, sst=1, quora=2, sts=1)
    assert isinstance(sampler, PrioritizedSampler)
    return sampler


def test_prioritized_weights_worked_by_hand() -> None:
    sampler = prioritized()
    assert shares_of(sampler) == pytest.approx({"sst": 1 / 3, "quora": 1 / 3, "sts": 1 / 3})
    # gaps .40, .04, .38 of .82: .487805, .048780, .463415. Smoothing .5, .3, .1 over the three updates of four epochs:
    # .5 * .487805 + .5 / 3 = .410569
    for expected in (
        {"sst": 0.410569, "quora": 0.191057, "sts": 0.398374},
        {"sst": 0.433740, "quora": 0.148374, "sts": 0.417886},
        {"sst": 0.439146, "quora": 0.138415, "sts": 0.422439},
    ):
        sampler.observe(TRAIN, DEV)
        assert shares_of(sampler) == pytest.approx(expected, abs=1e-6)


def test_prioritized_may_mix_with_the_initial_weights_instead_of_the_last_ones() -> None:
    sampler = prioritized(mix_with="initial")
    for smoothing in (0.5, 0.3, 0.1):
        sampler.observe(TRAIN, DEV)
        # always a third of the rest: the proposed shares are those of the gaps .40, .04, .38 of .82
        rest = (1 - smoothing) / 3
        proposed = {"sst": 0.40 / 0.82, "quora": 0.04 / 0.82, "sts": 0.38 / 0.82}
        assert shares_of(sampler) == pytest.approx({name: smoothing * each + rest for name, each in proposed.items()})


def test_prioritized_without_smoothing_takes_the_shares_of_the_gaps() -> None:
    sampler = prioritized(start=1.0, end=1.0)
    sampler.observe(TRAIN, DEV)
    assert shares_of(sampler) == pytest.approx({"sst": 0.40 / 0.82, "quora": 0.04 / 0.82, "sts": 0.38 / 0.82})


def test_prioritized_may_begin_by_size() -> None:
    sampler = prioritized(initial="proportional")
    assert shares_of(sampler) == {"sst": 0.25, "quora": 0.5, "sts": 0.25}


def test_a_task_that_is_better_on_dev_rows_proposes_nothing() -> None:
    sampler = prioritized()
    sampler.observe({"sst": 0.6, "quora": 0.9, "sts": 0.5}, {"sst": 0.5, "quora": 0.8, "sts": 0.7})
    # gaps .1, .1, 0
    assert shares_of(sampler) == pytest.approx({"sst": 0.25 + 1 / 6, "quora": 0.25 + 1 / 6, "sts": 1 / 6})


def test_no_gap_at_all_leaves_the_weights_as_they_are() -> None:
    sampler = prioritized(initial="proportional")
    sampler.observe(DEV, TRAIN)
    assert shares_of(sampler) == {"sst": 0.25, "quora": 0.5, "sts": 0.25}


def test_a_score_that_is_not_a_number_counts_as_no_gap() -> None:
    sampler = prioritized()
    sampler.observe({**TRAIN, "sts": math.nan}, DEV)
    # gaps .40, .04, 0
    assert shares_of(sampler)["sts"] == pytest.approx(1 / 6)


def test_a_task_without_scores_keeps_its_weight_and_others_of_other_stages_do_not_count() -> None:
    sampler = prioritized()
    sampler.observe({"sst": 0.9, "quora": 0.6, "old": 0.9}, {"sst": 0.6, "quora": 0.5, "old": 0.1})
    # gaps .3 and .1 share two thirds: .5 and 1/6 proposed, half of the way from 1/3
    assert shares_of(sampler) == pytest.approx({"sst": 5 / 12, "quora": 1 / 4, "sts": 1 / 3})


def test_no_task_falls_below_the_floor() -> None:
    sampler = prioritized(floor=0.2, start=1)
    sampler.observe({"sst": 1, "quora": 0.5, "sts": 1}, {"sst": 0.4, "quora": 0.5, "sts": 0.6})
    # gaps .6, 0, .4. quora is lifted to .2; of the other .8, .4 is theirs anyway and .4 goes by the excess .4 : .2
    assert shares_of(sampler) == pytest.approx({"sst": 0.2 + 0.4 * 2 / 3, "quora": 0.2, "sts": 0.2 + 0.4 / 3})


def test_a_floor_above_the_even_share_is_refused() -> None:
    said = refused({"name": "prioritized", "floor": 0.5})
    assert (
        said
        == "x.toml: stage 0: sampler 'prioritized': needs a floor of at least 0 and below 1/2, the uniform probability"
    )


# ---- in turn, at once, round robin --------------------------------------------------------------------


def test_round_robin_goes_round_whatever_the_sizes() -> None:
    assert drawn(sampler_of("round_robin", a=1, b=16, c=4), 7) == [("a",), ("b",), ("c",)] * 2 + [("a",)]


def test_in_turn_gives_all_of_a_task_before_the_next_and_begins_each_epoch_anew() -> None:
    # batches of 4: a has 2, b has 1, c has 3
    sampler = sampler_of("in_turn", a=8, b=3, c=12)
    one_epoch = [("a",)] * 2 + [("b",)] + [("c",)] * 3
    assert sampler.draws_per_epoch == 6
    for epoch, draws in ((1, 6), (2, 4), (3, 9)):
        sampler.begin_epoch(epoch)
        # an epoch that is told to have more steps goes round again
        assert drawn(sampler, draws) == (one_epoch * 2)[:draws]


def test_in_turn_takes_the_order_it_is_told() -> None:
    sampler = sampler_of({"name": "in_turn", "order": ["c", "a", "b"]}, a=8, b=3, c=12)
    assert drawn(sampler, 6) == [("c",)] * 3 + [("a",)] * 2 + [("b",)]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        (["quora", "sst", "stss"], "the stage has no task 'stss'. Did you mean 'sts'?"),
        (["quora", "sst"], "the order should name each of sst, quora, sts once"),
        (["quora", "sst", "sts", "sst"], "the order should name each of sst, quora, sts once"),
    ],
)
def test_an_order_that_is_not_one_of_the_stages_tasks_is_refused(order: list[str], reason: str) -> None:
    said = refused({"name": "in_turn", "order": order}, sst=1, quora=2, sts=3)
    assert said == f"x.toml: stage 0: sampler 'in_turn': {reason}"


def test_at_once_draws_all_tasks_and_an_epoch_is_as_long_as_the_longest() -> None:
    sampler = sampler_of("at_once", a=8, b=3, c=12)
    assert drawn(sampler, 2) == [("a", "b", "c")] * 2
    # batches of 4: 2, 1 and 3
    assert sampler.draws_per_epoch == 3
    assert sampler_of("round_robin", a=8, b=3, c=12).draws_per_epoch == 6


def test_at_once_without_repetition_uses_every_batch_once_per_epoch_evenly_spread() -> None:
    sampler = sampler_of({"name": "at_once", "repeat": False}, a=8, b=3, c=24)
    for epoch in (1, 2):
        sampler.begin_epoch(epoch)
        # batches of 4: 2, 1 and 6
        assert drawn(sampler, 6) == [("c",), ("c",), ("a", "c"), ("c",), ("c",), ("a", "b", "c")]
    assert sampler.draws_per_epoch == 6
