"""Comparisons: which cells there are, what makes two of them the same, and what a budget means."""

import json
import os
import shutil
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from minbert.cli.compare import read_budget, read_seeds
from minbert.comparison.budget import share_for_steps
from minbert.comparison.compare import Budget, Comparison, Sizing, unique
from minbert.comparison.conclude import conclude
from minbert.comparison.engines import Going
from minbert.comparison.engines.local import Local
from minbert.comparison.results import TrialResult
from minbert.comparison.transfer import Variant
from minbert.comparison.trial import Trial, make_trial, train_trial, trial_content
from minbert.config.recipe import Distillation, Recipe
from minbert.errors import UserError
from minbert.runs.events import Stopped
from minbert.training.prepare import prepare
from tests.workbench import DEMO, demo_recipe, run_all


def short(tiny: Path, *overrides: str) -> Recipe:
    return demo_recipe(tiny, *overrides, epochs=2, steps=20)


# ---- what a cell is known by --------------------------------------------------------------------------


def test_the_same_training_has_the_same_name_wherever_its_files_lie(tiny: Path, tmp_path: Path) -> None:
    first = trial_content(short(tiny), None)
    moved = shutil.copytree(tiny, tmp_path / "elsewhere")
    assert trial_content(short(moved), None) == first
    assert trial_content(replace(short(tiny), about="in other words"), None) == first
    data = tmp_path / "data"
    shutil.copytree(DEMO, data / "demo")
    assert trial_content(short(tiny), data) == first


@pytest.mark.parametrize(
    "override", ["seed=1", "epoch_fraction=0.5", "optimizer.learning_rate=2e-4", "stages.0.epochs=3"]
)
def test_another_recipe_or_seed_is_another_training(tiny: Path, override: str) -> None:
    assert trial_content(short(tiny, override), None) != trial_content(short(tiny), None)


def test_another_weight_is_another_training(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "other")
    weights = other / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    assert trial_content(short(other), None) != trial_content(short(tiny), None)


def test_another_row_is_another_training(tiny: Path, tmp_path: Path) -> None:
    recipe = short(tiny)
    task = recipe.read_tasks()["sentiment"]
    assert task.files.train is not None
    first = trial_content(recipe, None)
    folder = task.folder
    assert folder is not None
    place = tmp_path / task.files.train
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text((folder / task.files.train).read_text("utf-8") + "one more row,0\n", encoding="utf-8")
    assert trial_content(recipe, tmp_path) != first


def test_the_order_of_the_tasks_counts_and_watching_does_not(tiny: Path) -> None:
    recipe = short(tiny)
    turned = replace(recipe, tasks=dict(reversed(recipe.tasks.items())))
    assert trial_content(turned, None) != trial_content(recipe, None)
    watched = replace(recipe, selection=replace(recipe.selection, gradient_cosine_rows=8))
    assert trial_content(watched, None) == trial_content(recipe, None)


def test_a_teacher_is_what_it_answers_and_not_where_it_lies(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "teacher")

    def student(folder: Path) -> Recipe:
        recipe = short(tiny)
        stages = tuple(replace(stage, distillation=Distillation(teachers=(str(folder),))) for stage in recipe.stages)
        return replace(recipe, stages=stages)

    moved = shutil.copytree(tmp_path / "teacher", tmp_path / "moved")
    first = trial_content(student(tmp_path / "teacher"), None)
    assert trial_content(student(moved), None) == first
    run_all(demo_recipe(tiny, "seed=1"), tmp_path / "other")
    assert trial_content(student(tmp_path / "other"), None) != first


def test_recipes_that_come_to_the_same_training_are_trained_once(tiny: Path) -> None:
    trials = [make_trial("a", short(tiny), None), make_trial("b", short(tiny), None)]
    assert [trial.label for trial in unique(trials)] == ["a"]


def test_a_recipe_named_twice_is_a_mistake(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'a' is named twice"):
        Comparison(tmp_path, [Variant("a", short(tiny)), Variant("a", short(tiny, "seed=1"))], [0], Budget())


# ---- cells that were killed at awkward instants ---------------------------------------------------------


def train(trial: Trial, folder: Path) -> TrialResult:
    return train_trial(trial, folder, lambda done, total: None, lambda: None)


def test_a_cell_killed_before_it_said_what_it_is_is_trained(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny), None)
    trial.folder(tmp_path).mkdir(parents=True)
    (trial.folder(tmp_path) / "run.json.tmp").write_text("{")
    assert train(trial, tmp_path).state == "finished"


def test_a_cell_killed_before_it_wrote_its_result_is_not_trained_again(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny), None)
    run = trial.folder(tmp_path)
    first = train(trial, tmp_path)
    written = (run / "run.json").stat().st_mtime_ns
    for name in ("result.json", "notes.json"):
        (run / name).unlink()
    again = train(trial, tmp_path)
    assert (again.state, again.scores) == ("finished", first.scores)
    assert again.cost is not None and again.cost.seconds > 0
    assert (run / "run.json").stat().st_mtime_ns == written


def test_another_word_about_a_recipe_does_not_keep_a_cell_from_going_on(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, steps=6)
    trial = make_trial("a", recipe, None)
    asked = iter([None, None, 15, 15])
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total: None, lambda: next(asked, 15))
    # nor does another number of rows by which its gradients are watched
    watched = replace(recipe.selection, gradient_cosine_rows=4)
    other = make_trial("b", replace(recipe, about="in other words", selection=watched), None)
    assert other.key == trial.key
    going: list[int] = []
    result = train_trial(other, tmp_path, lambda done, total: going.append(done), lambda: None)
    assert result.state == "finished" and going[0] > 0


def test_a_cell_that_may_not_go_on_begins_again(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, steps=6)
    trial = make_trial("a", recipe, None)
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total: None, lambda: 15)
    # as if it had been begun on a machine that computes otherwise
    about = trial.folder(tmp_path) / "run.json"
    said = json.loads(about.read_text(encoding="utf-8"))
    about.write_text(json.dumps(said | {"computes_in": "bfloat16"}), encoding="utf-8")
    assert train(trial, tmp_path).state == "finished"


def test_time_that_was_lost_with_a_kill_is_not_counted(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny, steps=6), None)
    asked = iter([None, None, 15])
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total: None, lambda: next(asked, 15))
    # it had noted far more than its checkpoint has
    notes = {"seconds": 3000.0, "memory": 1.0, "step": 300, "steps": 6}
    (trial.folder(tmp_path) / "notes.json").write_text(json.dumps(notes), encoding="utf-8")
    cost = train(trial, tmp_path).cost
    assert cost is not None and 10 <= cost.seconds < 100


def test_the_same_training_by_two_names_is_timed_once(tiny: Path, tmp_path: Path) -> None:
    named = [Variant("a", short(tiny)), Variant("b", replace(short(tiny), about="in other words"))]
    work = Comparison(tmp_path, named, [0], Budget(seconds=1.0))
    told = list(work.train(Local(tmp_path, 1), None, "a"))
    assert [each.total for each in told if isinstance(each, Sizing)] == [1, 1]
    assert len([each for each in told if isinstance(each, TrialResult)]) == 1
    # the table may be lost, and nothing is trained again
    (tmp_path / "results.sqlite").unlink()
    again = Comparison(tmp_path, named, [0], Budget(seconds=1.0)).train(Local(tmp_path, 1), None, "a")
    assert not [each for each in again if isinstance(each, Sizing | Going)]
    found = conclude(tmp_path)
    assert found.complete and "a and b are the very same training here, under 2 names." in found.caveats


def test_data_that_change_under_a_comparison_are_noticed(tiny: Path, tmp_path: Path) -> None:
    trial = replace(make_trial("a", demo_recipe(tiny), None), key="of other data")
    result = train(trial, tmp_path)
    assert (result.state, result.reason) == ("failed", "its data or weights have changed since it was asked for.")


def test_a_process_that_dies_while_timing_is_its_own_affair(tmp_path: Path) -> None:
    found = dict(Local(tmp_path, 2).call(divmod, {"good": (7, 2), "wrong": (7, 0)}))
    assert found["good"] == (3, 1)
    assert isinstance(found["wrong"], ZeroDivisionError)
    (died,) = dict(Local(tmp_path, 1).call(os._exit, {"died": (1,)})).values()
    assert isinstance(died, BrokenProcessPool)


# ---- budgets and seeds --------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [4, 10, 25])
def test_steps_are_kept_to(tiny: Path, steps: int) -> None:
    recipe = short(tiny)
    share = share_for_steps(recipe, steps)
    done = prepare(replace(recipe, epoch_fraction=share), None).setup.steps
    # two epochs of equal length
    assert steps - 2 < done <= steps


def test_a_recipe_that_is_shorter_stays_whole(tiny: Path) -> None:
    assert share_for_steps(short(tiny), 10_000) == 1.0


def test_budgets_in_words() -> None:
    budgets = [Budget(), Budget(steps=1200), Budget(seconds=600), Budget(seconds=90)]
    assert [str(budget) for budget in budgets] == [
        "whole recipes",
        "1,200 steps a training",
        "10 minutes of training each",
        "90 seconds of training each",
    ]
    assert Budget(seconds=90).part(1 / 3) == Budget(seconds=30)
    assert Budget(steps=100).part(1 / 3) == Budget(steps=33)


def test_a_cell_has_one_limit() -> None:
    assert read_budget("5m", None) == Budget(seconds=300)
    with pytest.raises(UserError, match="one limit"):
        read_budget("5m", 100)
    with pytest.raises(UserError, match="'soon' is no time"):
        read_budget("soon", None)


def test_seeds_are_a_number_or_a_list() -> None:
    assert read_seeds("3") == [0, 1, 2]
    assert read_seeds("3,5,8") == [3, 5, 8]
    for wrong in ("0", "-1", "a", "", "1,1", "2,-1"):
        with pytest.raises(UserError, match="--seeds"):
            read_seeds(wrong)
