"""A run within a time limit: what is shortened, what is refused, and what happens when the time is up."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
import tomli_w
import torch
from safetensors.torch import load_file

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.errors import UserError
from minbert.runs.checkpoint import CheckpointInterval
from minbert.runs.events import Evaluated, Event, Finished, Started, Stopped
from minbert.runs.fit import Fit
from minbert.runs.run import resume_run, start_run
from minbert.runs.time_plan import (
    FEWEST_PLANNED_ROWS,
    RunCosts,
    TimeLimit,
    TimePlan,
    fit_into,
    largest_rows,
    plan_time,
    unchanged,
)
from minbert.training.draw_costs import DrawKind, count_draws
from minbert.training.draw_timing import time_draws
from minbert.training.linear_probe import PROBE_ROWS
from minbert.training.loop import Step
from minbert.training.prepare import Prepared, prepare
from tests.workbench import Minbert, demo_recipe, run_all, write_csv

T = TypeVar("T")


class Ticks:
    """A clock that moves one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def of_kind(kind: type[T], events: list[Event]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def costs_of(ready: Prepared, draw: float, row: float) -> RunCosts:
    """Every draw and every row takes as long."""
    draws: dict[DrawKind, float] = dict.fromkeys(count_draws(ready.setup.plans, ready.recipe), draw)
    return RunCosts(ready, draws, dict.fromkeys(ready.tasks, row), {}, controls=True)


@pytest.fixture(scope="module")
def ready(tiny: Path) -> Prepared:
    return prepare(demo_recipe(tiny, epochs=4, steps=100))


def test_a_run_that_fits_stays_whole(ready: Prepared) -> None:
    plan = fit_into(costs_of(ready, draw=0.01, row=0.0001), 3600, 1)
    assert (plan.epoch_fraction, plan.eval_rows, plan.probe_rows) == (1.0, ready.recipe.selection.eval_rows, PROBE_ROWS)
    assert plan.shorten(ready).setup.steps == 400


def test_training_gets_what_the_rest_leaves(ready: Prepared) -> None:
    costs = costs_of(ready, draw=1.0, row=0.0001)
    plan = fit_into(costs, 200, 20)
    short = plan.shorten(ready)
    assert 100 < short.setup.steps < 180 and short.recipe.epoch_fraction == plan.epoch_fraction
    whole = 20 + costs.probe(plan.probe_rows) + costs.evaluations(plan.eval_rows) + costs.training(plan.epoch_fraction)
    assert whole + costs.final <= 200
    # the part after the last step: one evaluation, and the final scores
    assert plan.reserve == pytest.approx(costs.evaluation(plan.eval_rows) + costs.final)


def test_a_short_budget_evaluates_fewer_rows(ready: Prepared) -> None:
    """Only a quarter of the time is for evaluations, and two fifths for controls and probe."""
    costs = costs_of(ready, draw=0.01, row=0.02)
    plan = fit_into(costs, 48, 1)
    assert plan.eval_rows == FEWEST_PLANNED_ROWS and plan.probe_rows < 400
    assert largest_rows(1000, lambda rows: rows, 300) == 250
    assert largest_rows(1000, lambda rows: rows, 1) == FEWEST_PLANNED_ROWS


def test_a_budget_that_cannot_be_kept_is_refused_with_one_that_can(ready: Prepared) -> None:
    costs = costs_of(ready, draw=1.0, row=0.01)
    with pytest.raises(UserError, match="5 s is too short") as refused:
        fit_into(costs, 5, 2)
    least = float(refused.value.next_step.split(" s,")[0].split()[-1])
    # four epochs of at least one step
    assert fit_into(costs, least, 2).shorten(ready).setup.steps >= 4


def test_a_refused_run_leaves_nothing_behind(tiny: Path, tmp_path: Path, minbert: Minbert) -> None:
    said = minbert("train", "demo", "--out", tmp_path / "run", "--set", f"backbone={tiny}", "--budget", "0.01s")
    assert said.code == 2 and "too short" in said.err and "at least" in said.err
    assert not (tmp_path / "run").exists()
    assert "not a duration" in minbert("train", "demo", "--out", tmp_path / "run", "--budget", "soon").err


def test_timing_leaves_no_trace(tiny: Path) -> None:
    """Weights, dropout, data order and all other state are those of a run that was never timed."""
    recipe = demo_recipe(
        tiny, "balancer=dwa", "weight_averaging=ema", "tasks.sentiment.regularizers=['smart']", steps=4
    )
    timed, fresh = prepare(recipe), prepare(recipe)
    plan_time(timed, 3600, time.monotonic())
    found = [Fit(each, Path(), CheckpointInterval(), lambda: None, {}).loop for each in (timed, fresh)]
    steps = [list(loop) for loop in found]
    assert steps[0] == steps[1]
    assert all(torch.equal(a, b) for a, b in zip(timed.model.parameters(), fresh.model.parameters(), strict=True))


def test_training_inside_unchanged_changes_weights_only_there(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny))
    before = {name: value.clone() for name, value in ready.model.state_dict().items()}
    with unchanged(ready):
        time_draws([ready], 1)
        assert any(not torch.equal(value, before[name]) for name, value in ready.model.state_dict().items())
    assert all(torch.equal(value, before[name]) for name, value in ready.model.state_dict().items())


def limited(ready: Prepared, out: Path, seconds: float, reserve: float = 3.0) -> Fit:
    plan = TimePlan(seconds, 1.0, 50, 100, reserve)
    limit = TimeLimit(plan, began=0.0, clock=Ticks())
    out.mkdir()
    return Fit(
        plan.shorten(ready),
        out,
        CheckpointInterval(),
        lambda: None,
        {n: t.files for n, t in ready.tasks.items()},
        limit,
    )


def test_training_stops_when_the_time_is_up_and_keeps_the_best_model(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, epochs=3, steps=20)
    fit = limited(prepare(recipe), tmp_path / "run", 28.0)
    events = list(fit.go())
    steps = of_kind(Step, events)
    # 60 were planned; the clock is read once or twice a step
    assert 5 < len(steps) < 30 and fit.out_of_time
    # what was trained since the last evaluation is evaluated too
    assert of_kind(Evaluated, events)[-1].step == len(steps)
    assert (tmp_path / "run/model/model.safetensors").is_file()


def test_at_least_one_step_is_trained_and_evaluated(tiny: Path, tmp_path: Path) -> None:
    fit = limited(prepare(demo_recipe(tiny, epochs=3, steps=20)), tmp_path / "run", 1.0)
    events = list(fit.go())
    assert len(of_kind(Step, events)) == 1 and [event.step for event in of_kind(Evaluated, events)][-1] == 1
    assert (tmp_path / "run/model/model.safetensors").is_file()


def own_task(folder: Path, tiny: Path) -> Recipe:
    words = ["great", "awful"]
    rows = [f"the film number {i} was {words[i % 2]},{['bad', 'good'][1 - i % 2]}" for i in range(400)]
    file = write_csv(folder / "films.csv", "text,label", rows)
    task = {"kind": "classify", "text": ["text"], "label": "label", "files": {"train": str(file)}}
    from minbert.config.loading import recipe_from

    return recipe_from({"backbone": str(tiny), "tasks": {"films": {"task": task}}}, str(folder / "recipe.toml"))


def save(recipe: Recipe, folder: Path) -> Path:
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(recipe.table), encoding="utf-8")
    return path


def test_ten_seconds_are_kept(tiny: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    events = list(start_run(own_task(tmp_path, tiny), tmp_path / "run", budget=10.0))
    assert time.monotonic() - began < 20
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert about["budget"]["seconds"] == 10 and about["used_seconds"] < 20 and about["state"] == "finished"
    part = min(1.0, about["steps"] / about["planned_steps"])
    assert all(each["trained_part"] == pytest.approx(part, abs=0.2) for each in about["outcomes"].values())
    (started,) = of_kind(Started, events)
    assert started.notes[0].startswith("budget of 10 s: ")
    assert any("learning rate" in line for line in started.settings)
    assert isinstance(events[-1], Finished) and events[-1].outcomes["films"].constant is not None


def test_a_budget_with_room_gives_the_same_model(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, steps=4)
    run_all(recipe, tmp_path / "free")
    list(start_run(recipe, tmp_path / "timed", budget=3600.0))
    free, timed = (load_file(tmp_path / name / "model/tasks.safetensors") for name in ("free", "timed"))
    assert all(torch.equal(free[name], timed[name]) for name in free)


def test_a_resumed_run_has_the_time_that_was_left(tiny: Path, tmp_path: Path, minbert: Minbert) -> None:
    recipe, out = demo_recipe(tiny, epochs=2, steps=5), tmp_path / "run"
    answers: Iterator[int | None] = iter([*[None] * 40, 2])
    with pytest.raises(Stopped):
        list(start_run(recipe, out, budget=600.0, stop_requested=lambda: next(answers, None)))
    state = json.loads(next((out / "checkpoints").glob("step-*/state.json")).read_text())
    assert 0 < state["used"] < 600
    said = minbert("train", "demo", "--out", out, "--resume", "--budget", "5m")
    assert said.code == 2 and "with a budget of 600 s" in said.err
    # the recipe as it was given, and the plan that was made for it
    list(resume_run(out, recipe))
    about = json.loads((out / "run.json").read_text())
    assert about["state"] == "finished" and about["budget"]["seconds"] == 600 and about["used_seconds"] > state["used"]


def test_a_shortened_run_can_be_resumed_with_its_recipe(tiny: Path, tmp_path: Path) -> None:
    """The plan in run.json shortens the recipe in the same way again."""
    ready = prepare(read_recipe("demo", [f"backbone={tiny}"]))
    plan = TimePlan(10.0, 0.05, 80, 200, 1.0)
    once = plan.shorten(ready)
    assert plan.shorten(once).recipe == once.recipe and once.setup.steps < ready.setup.steps
    assert once.recipe.selection == replace(ready.recipe.selection, eval_rows=80)


def test_only_patience_of_the_user_stops_a_run_with_a_budget(tiny: Path, tmp_path: Path) -> None:
    """With eight evaluations in eight steps, the chosen patience would end a short run during its warm-up."""
    free = own_task(tmp_path, tiny)
    own = read_recipe(str(save(free, tmp_path)), ["selection.patience=2"])
    for recipe, patience in ((free, None), (own, 2)):
        ready = prepare(recipe)
        plan = plan_time(ready, 600, time.monotonic(), patience=recipe.selection.patience)
        assert plan.shorten(ready).recipe.selection.patience == patience
    assert prepare(free).recipe.selection.patience is not None


def test_of_two_equal_scores_the_one_with_the_smaller_loss_is_kept(tiny: Path, tmp_path: Path) -> None:
    fit = limited(prepare(demo_recipe(tiny, epochs=1, steps=2)), tmp_path / "run", 1000.0)

    def scores(value: float, loss: float) -> dict[str, dict[str, float]]:
        return {name: {task.metric: value, "log_loss": loss} for name, task in fit.ready.tasks.items()}

    assert fit.judge(scores(0.5, 1.0)) and fit.best.waited == 0
    fit.loop.step()
    assert fit.judge(scores(0.5, 0.8)) and fit.best.waited == 1
    assert not fit.judge(scores(0.5, 0.9)) and not fit.judge(scores(0.4, 0.1)) and fit.best.waited == 3
    # a higher score counts more than the loss
    assert fit.judge(scores(0.6, 2.0)) and fit.best.waited == 0


def test_of_two_equal_scores_without_a_loss_the_later_model_is_kept(tiny: Path, tmp_path: Path) -> None:
    fit = limited(prepare(demo_recipe(tiny, epochs=1, steps=2)), tmp_path / "run", 1000.0)
    scores = {name: {task.metric: 0.5} for name, task in fit.ready.tasks.items()}
    assert fit.judge(scores)
    fit.loop.step()
    assert fit.judge(scores) and fit.best.waited == 1
