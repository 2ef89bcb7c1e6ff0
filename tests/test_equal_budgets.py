"""Budgets of a comparison: equal examples by default, and what is said where trials are not given the same."""

import itertools
import json
import types
from dataclasses import replace
from pathlib import Path

import pytest

from minbert.cli.compare import read_budget
from minbert.comparison.budget import Budget, examples_read, fraction_for_examples, shortened
from minbert.comparison.caveats import budget_caveats, step_caveats
from minbert.comparison.conclude import conclude
from minbert.comparison.engines.local import LocalEngine
from minbert.comparison.fraction_jobs import measure_fractions, timing_groups
from minbert.comparison.results import TrialCost, TrialResult
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE
from minbert.errors import UserError
from minbert.runs.directory import read_run
from minbert.training import draw_timing
from minbert.training.draw_costs import rows_of_batches
from minbert.training.loop import Loop, Step
from minbert.training.prepare import prepare
from tests.workbench import Minbert, demo_recipe


def examples_trained(recipe: Recipe) -> int:
    ready = prepare(recipe)
    return sum(step.examples for step in Loop(ready.model, ready.setup))


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("optimizer.gradient_accumulation_steps=2",),
        ("stages.0.sampler=at_once", "tasks.sentiment.batch_size=50", "stages.0.steps_per_epoch=11"),
        ("stages.0.sampler=in_turn", "stages.0.max_rows_per_task=40", "tasks.paraphrase.batch_size=7"),
    ],
)
def test_examples_are_counted_as_training_draws_them(tiny: Path, overrides: tuple[str, ...]) -> None:
    recipe = demo_recipe(tiny, *overrides, epochs=2, steps=15)
    assert examples_read(recipe) == examples_trained(recipe)


def test_the_last_batch_of_a_pass_is_smaller() -> None:
    # 10 rows in batches of 4: 4, 4, 2, 4, 4, 2, ...
    assert [rows_of_batches(10, 4, 0, batches) for batches in range(8)] == [0, 4, 8, 10, 14, 18, 20, 24]
    assert [rows_of_batches(10, 4, 8, batches) for batches in range(5)] == [0, 2, 6, 10, 12]


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.7, 6.0])
def test_a_recipe_reads_the_examples_of_its_budget_even_if_its_own_training_is_shorter(
    tiny: Path, factor: float
) -> None:
    recipe = demo_recipe(tiny, epochs=2, steps=20)
    wanted = round(factor * examples_read(recipe))
    fraction = fraction_for_examples(recipe, wanted)
    # to the nearest step of each epoch
    assert abs(examples_trained(shortened(recipe, fraction)) - wanted) <= 2 * 32
    assert (fraction > 1) == (factor > 1)


def test_the_whole_training_stays_as_it_is(tiny: Path) -> None:
    recipe = demo_recipe(tiny, "epoch_fraction=0.7", epochs=2, steps=20)
    assert fraction_for_examples(recipe, examples_read(recipe)) == 0.7


def test_a_budget_has_words_and_a_share() -> None:
    assert str(Budget(examples=38_400)) == "38,400 training examples per training run"
    assert Budget(examples=100).scaled(1 / 3) == Budget(examples=33)
    assert [Budget(examples=each).eval_rows for each in (100, 10_000, 60_000)] == [500, 500, 3000]


def test_a_trial_has_one_of_four_limits() -> None:
    assert read_budget(None, None, 500) == Budget(examples=500)
    assert read_budget(None, None, full=True) == Budget()
    with pytest.raises(UserError, match="--steps and --full: a trial has only one limit"):
        read_budget(None, 100, None, full=True)


# ---- the command --------------------------------------------------------------------------------------


def test_by_default_all_recipes_read_what_the_baseline_reads(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    start = f'extends = "demo"\nbackbone = "{tiny}"\n[[stages]]\nsampler = "square_root"\n'
    (tmp_path / "base.toml").write_text(f"{start}epochs = 2\nsteps_per_epoch = 8\n")
    (tmp_path / "short.toml").write_text(f"{start}epochs = 1\nsteps_per_epoch = 4\n[defaults]\nbatch_size = 8\n")
    recipes = [tmp_path / f"{name}.toml" for name in ("base", "short")]
    words = ("compare", *recipes, "--seeds", "1", "--cosines", "0", "--out", tmp_path / "cmp")
    said = minbert(*words)
    assert said.code == 0, said.err
    found = conclude(tmp_path / "cmp")
    costs = {each.label: each.cost for each in found.systems}
    base, short = (costs[str(path)] for path in recipes)
    assert base is not None and short is not None
    assert base.steps == 16 and short.steps > 4
    assert short.examples == pytest.approx(base.examples, rel=0.03)
    assert found.budget == f"{base.examples:,.0f} training examples per training run"
    assert not [caveat for caveat in found.caveats if "budget" in caveat]
    # validation rows chose, and it is said
    assert set(found.validation.values()) == {0.1}
    for text in (said.out.replace("\n", " "), (tmp_path / "cmp/report.md").read_text(encoding="utf-8")):
        assert "Validation rows, held out of the training rows, chose the models" in text
    assert "validation rows that choose the model to keep" in (tmp_path / "cmp/report.html").read_text(encoding="utf-8")
    # nothing is trained twice
    trials = sorted((tmp_path / "cmp/trials").glob("*/run.json"))
    written = [path.stat().st_mtime_ns for path in trials]
    assert minbert(*words).code == 0
    assert [path.stat().st_mtime_ns for path in trials] == written
    assert sorted((tmp_path / "cmp/trials").glob("*/run.json")) == trials
    # switched off: the dev rows choose, and it is said
    said = minbert(*words, "--full", "--set", "selection.validation_fraction=0")
    assert said.code == 0, said.err
    assert "The dev rows that are scored also chose the models." in said.out.replace("\n", " ")
    plan = json.loads((tmp_path / "cmp/compare.json").read_text(encoding="utf-8"))
    assert plan["budget"] == "whole recipes"
    runs = [read_run(tmp_path / "cmp/trials" / trial["key"]) for trial in plan["trials"]]
    assert [run["steps"] for run in runs] == [16, 4]
    # the steps of the other recipe read fewer examples, not more
    assert not [caveat for caveat in conclude(tmp_path / "cmp").caveats if "reads" in caveat]


def trial(label: str, **cost: float) -> TrialResult:
    usual = TrialCost(100.0, 10, 1000, 5, 5, 1e6, 1e6, 320)
    return TrialResult(label, label, 0, "finished", cost=replace(usual, **cost))  # type: ignore[arg-type]


def test_steps_that_read_more_than_those_of_the_baseline_are_named() -> None:
    done = [trial("base"), trial("long", tokens=3000), trial("wide", tokens=2000, examples=640)]
    done += [trial("near", tokens=1100), trial("alone: x", tokens=9000)]
    ranked = ["base", "long", "wide", "near"]
    limits = dict.fromkeys([*ranked, "alone: x"], Budget(steps=10))
    assert list(step_caveats(done, limits, ranked)) == [
        "A step of long reads 3.0 times as many tokens as one of base: equal steps are not equal data.",
        "A step of wide reads 2.0 times as many examples and 2.0 times as many tokens as one of base: equal steps are "
        "not equal data.",
    ]
    whole = list(step_caveats(done, dict.fromkeys(ranked, Budget()), ranked))
    assert whole[0].endswith("as one of base: whole recipes do not read equal data.")
    for budget in (Budget(seconds=100.0), Budget(examples=320)):
        assert not list(step_caveats(done, dict.fromkeys(ranked, budget), ranked))


def test_trials_that_read_other_examples_than_their_budget_are_named() -> None:
    done = [trial("more", examples=500), trial("right", examples=310), trial("less", examples=100)]
    # runs of earlier versions did not record it
    done += [trial("unknown", examples=0)]
    said = list(budget_caveats(done, {each.label: Budget(examples=320) for each in done}))
    assert [sentence.partition(":")[0] for sentence in said] == [
        "more read 500 examples of a budget of 320",
        "less read 100 examples of a budget of 320",
    ]


# ---- timing -------------------------------------------------------------------------------------------


def test_recipes_are_timed_in_turn_and_a_busy_minute_hits_all_of_them(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock on which each step takes one second, and three while the machine is busy."""
    order: list[int] = []
    now = 0.0
    step = Loop.step

    def slow_step(loop: Loop) -> Step:
        nonlocal now
        order.append(id(loop))
        # rounds of six steps, the first not timed; the machine is busy in the next four
        now += 3.0 if 6 <= len(order) - 1 < 30 else 1.0
        return step(loop)

    monkeypatch.setattr(Loop, "step", slow_step)
    monkeypatch.setattr(draw_timing, "time", types.SimpleNamespace(perf_counter=lambda: now))
    runs = [prepare(demo_recipe(tiny)), prepare(demo_recipe(tiny, "tasks.sentiment.pooling=cls"))]
    first, second = draw_timing.time_draws(runs)
    # three tasks of one recipe, then three of the other
    assert [len(list(group)) for _, group in itertools.groupby(order)] == [3] * 22
    assert list(first.values()) == list(second.values()) == [1.0] * 3


def test_recipes_are_timed_a_few_at_a_time() -> None:
    assert timing_groups(list("ab"), 1) == {"a": ["a", "b"]}
    assert timing_groups(list("ab"), 2) == {"a": ["a"], "b": ["b"]}
    assert timing_groups(list("abcdef"), 1) == {"a": ["a", "c", "e"], "b": ["b", "d", "f"]}
    assert timing_groups(["a"], 3) == {"a": ["a"]}


def test_a_recipe_that_cannot_be_timed_does_not_affect_the_others(tiny: Path, tmp_path: Path) -> None:
    good = demo_recipe(tiny, epochs=2)
    # a learning rate at which the loss is no longer a number
    bad = demo_recipe(tiny, "optimizer.learning_rate=1e30", "optimizer.warmup_ratio=0")
    budget = Budget(seconds=0.5)
    jobs = {"good": (budget, good, DEFAULT_SOURCE), "bad": (budget, bad, DEFAULT_SOURCE)}
    found = dict(measure_fractions(LocalEngine(tmp_path, 1), jobs))
    assert isinstance(found["good"], float) and 0 < found["good"] <= 1
    assert isinstance(found["bad"], UserError) and "The loss of task" in found["bad"].problem
