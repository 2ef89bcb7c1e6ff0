"""Feeds of batches and plans of stages: what is trained on, in which order, for how many steps."""

import json

import numpy as np
import pytest

from minbert.config.loading import recipe_from
from minbert.config.recipe import Recipe, Stage, TaskPlan
from minbert.data.batch import EncodedTexts
from minbert.data.tokenizer import Tokens
from minbert.errors import UserError
from minbert.training.samplers import Sampler
from minbert.training.stages import DataLoader, StagePlan, plan_stages, stage_sizes

SIZES = {"sst": 10, "sts": 5}
LENGTHS = {"sst": 64, "sts": 32}


def feed_of(rows: int = 10, seed: int = 0) -> DataLoader:
    """Sequence i is i + 1 times the token i, its label i; cut to at most 3 tokens it is that."""

    def cut_to(length: int) -> EncodedTexts:
        tokens = Tokens.of([[i] * min(length, i + 1) for i in range(rows)])
        return EncodedTexts((tokens,), (), truncated=np.zeros(rows, bool), whole_lengths=tokens.lengths)

    return DataLoader("t", {64: cut_to(64), 3: cut_to(3)}, np.arange(rows), seed)


def taken(loader: DataLoader, batches: int, size: int = 4, length: int = 64) -> list[list[int]]:
    """The examples of the next batches, by their labels."""
    found = []
    for _ in range(batches):
        batch = loader.draw(size, length)
        assert batch.labels_B is not None and batch.task == "t"
        # the tokens belong to the labels
        assert batch.packed.ids_T.tolist() == [i for i in batch.labels_B.tolist() for _ in range(min(length, i + 1))]
        found.append(batch.labels_B.tolist())
    return found


def planned(*stages: Stage, **tasks: TaskPlan) -> list[StagePlan]:
    recipe = Recipe("x.toml", tasks=tasks or {"sst": TaskPlan(), "sts": TaskPlan()}, stages=stages)
    return plan_stages(recipe, SIZES, LENGTHS)


def drawn(sampler: Sampler, count: int) -> list[tuple[str, ...]]:
    return [sampler.draw() for _ in range(count)]


def test_each_pass_sees_every_example_once_in_a_new_order() -> None:
    loader = feed_of(rows=10)
    passes = [taken(loader, 3) for _ in range(4)]
    assert all([len(batch) for batch in each] == [4, 4, 2] for each in passes)
    orders = [[example for batch in each for example in batch] for each in passes]
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


def test_a_feed_is_decided_by_its_seed() -> None:
    assert taken(feed_of(seed=3), 6) == taken(feed_of(seed=3), 6) != taken(feed_of(seed=4), 6)


def test_a_pass_goes_on_where_batches_of_another_size_and_length_stopped() -> None:
    whole = [row for batch in taken(feed_of(), 3) for row in batch]
    loader = feed_of()
    mixed = taken(loader, 1, size=3) + taken(loader, 1, size=5, length=3) + taken(loader, 1, size=5)
    assert [len(batch) for batch in mixed] == [3, 5, 2]
    assert [row for batch in mixed for row in batch] == whole


@pytest.mark.parametrize("stopped_after", [1, 3, 5])
def test_a_restored_feed_goes_on_as_if_it_had_never_stopped(stopped_after: int) -> None:
    loader = feed_of()
    taken(loader, stopped_after)
    state = json.loads(json.dumps(loader.state()))
    other = feed_of()
    other.restore(state)
    assert taken(other, 7) == taken(loader, 7)


def test_a_batch_larger_than_the_data_is_the_data() -> None:
    assert [sorted(batch) for batch in taken(feed_of(rows=3), 2, size=8)] == [[0, 1, 2]] * 2


def test_an_epoch_is_as_many_steps_as_one_pass_over_all_tasks_of_the_stage() -> None:
    four = TaskPlan(batch_size=4)
    stages = (Stage(epochs=2), Stage(tasks=("sts",), sampler="round_robin"), Stage(steps_per_epoch=7, epochs=3))
    # 10 rows in batches of 4 are 3 steps, 5 rows are 2
    plans = planned(*stages, sst=four, sts=four)
    assert [(list(plan.batch_sizes), plan.steps_per_epoch, plan.steps) for plan in plans] == [
        (["sst", "sts"], 5, 10),
        (["sts"], 2, 2),
        (["sst", "sts"], 7, 21),
    ]
    assert plans[1].sampler.draw() == ("sts",)


def test_all_at_once_an_epoch_is_as_long_as_its_longest_task_and_capped_as_its_smallest() -> None:
    both = ("sst", "sts")
    free, capped = planned(
        Stage(sampler="at_once", batch_sizes={"sst": 2, "sts": 2}),
        Stage(sampler="at_once", max_rows_per_task="smallest", batch_sizes={"sst": 2, "sts": 2}),
    )
    assert (free.steps, capped.steps) == (5, 3)
    assert drawn(capped.sampler, 3) == [both] * 3


def test_only_the_largest_task_is_cut_to_the_size_of_the_second_largest() -> None:
    stage = Stage(max_rows_per_task="second_largest")
    sizes = {"sst": 8, "quora": 100, "sts": 6}
    assert stage_sizes(stage, sizes, dict.fromkeys(sizes, 2), 1.0).rows == {"sst": 8, "quora": 8, "sts": 6}
    assert stage_sizes(stage, {"sst": 8}, {"sst": 2}, 1.0).rows == {"sst": 8}


def test_in_turn_sees_all_of_a_task_before_the_next_and_a_cap_shortens_its_turn() -> None:
    sizes = {"sst": 2, "sts": 2}
    whole, capped = planned(
        Stage(sampler="in_turn", batch_sizes=sizes),
        Stage(sampler={"name": "in_turn", "order": ["sts", "sst"]}, max_rows_per_task=4, batch_sizes=sizes),
    )
    for plan in (whole, capped):
        plan.sampler.begin_epoch(1)
    assert drawn(whole.sampler, whole.steps) == [("sst",)] * 5 + [("sts",)] * 3
    assert drawn(capped.sampler, capped.steps) == [("sts",)] * 2 + [("sst",)] * 2


def test_a_stage_may_have_batch_sizes_and_lengths_of_its_own() -> None:
    own = Stage(batch_sizes={"sst": 5}, max_lengths={"sst": 16, "sts": 1000})
    (plan,) = planned(own, sst=TaskPlan(batch_size=2), sts=TaskPlan(batch_size=3))
    assert plan.batch_sizes == {"sst": 5, "sts": 3}
    # no longer than the task's own
    assert plan.max_lengths == {"sst": 16, "sts": 32}


def test_a_wrong_sampler_is_named_with_its_stage() -> None:
    with pytest.raises(UserError, match=r"^x\.toml: stage 1: unknown sampler 'robin'"):
        planned(Stage(), Stage(sampler="robin"))


def test_a_share_trains_that_part_of_every_turn_and_at_least_one_batch() -> None:
    sizes = {"sst": 1, "sts": 1}
    stages = (
        Stage(sampler="in_turn", batch_sizes=sizes),
        Stage(sampler="at_once", batch_sizes=sizes),
        Stage(steps_per_epoch=30, epochs=2),
    )
    recipe = Recipe("x.toml", tasks={"sst": TaskPlan(), "sts": TaskPlan()}, stages=stages, epoch_fraction=0.2)
    in_turn, at_once, counted = plan_stages(recipe, SIZES, LENGTHS)
    in_turn.sampler.begin_epoch(1)
    assert drawn(in_turn.sampler, in_turn.steps) == [("sst",), ("sst",), ("sts",)]
    assert (at_once.steps, counted.steps) == (2, 12)


def test_groups_of_stages_repeat() -> None:
    table = {
        "tasks": ["sst"],
        "stages": [{"epochs": 3}, {"repeat": 2, "each": [{"trainable": "heads"}, {"trainable": "all", "epochs": 2}]}],
    }
    stages = recipe_from(table, "x.toml").stages
    twice = [("heads", 1), ("all", 2), ("heads", 1), ("all", 2)]
    assert [(stage.trainable, stage.epochs) for stage in stages] == [("all", 3), *twice]
    for wrong in ({"repeat": 0, "each": [{}]}, {"repeat": 2}):
        with pytest.raises(UserError, match="a group of stages has 'repeat'"):
            recipe_from({"tasks": ["sst"], "stages": [wrong]}, "x.toml")
