"""Comparisons: which trials there are, what makes two of them the same, and what a budget means."""

import itertools
import json
import os
import shutil
import types
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from minbert.cli.compare import read_budget, read_seeds
from minbert.comparison.budget import Budget, fraction_for_steps
from minbert.comparison.compare import Calibrating, Comparison, unique_trials
from minbert.comparison.conclude import conclude
from minbert.comparison.engines import TrialProgress
from minbert.comparison.engines.local import LocalEngine
from minbert.comparison.results import TrialCost, TrialResult
from minbert.comparison.store import Store
from minbert.comparison.transfer import LabeledRecipe
from minbert.comparison.trial import (
    Trial,
    file_sha256,
    make_trial,
    read_progress,
    read_result,
    train_trial,
    trial_content,
)
from minbert.config.recipe import Distillation, Recipe
from minbert.config.task import STANDARD
from minbert.data.source import DataSource
from minbert.errors import UserError
from minbert.runs import fit
from minbert.runs.checkpoint import CheckpointInterval
from minbert.runs.directory import read_run
from minbert.runs.events import Stopped
from minbert.runs.run import resume_run, start_run
from minbert.training.loop import Step
from minbert.training.prepare import prepare
from tests.workbench import DEMO, demo_recipe, run_all


def short(tiny: Path, *overrides: str) -> Recipe:
    return demo_recipe(tiny, *overrides, epochs=2, steps=20)


# ---- the key of a trial -------------------------------------------------------------------------------


def test_the_same_training_has_the_same_name_wherever_its_files_lie(tiny: Path, tmp_path: Path) -> None:
    first = trial_content(short(tiny))
    moved = shutil.copytree(tiny, tmp_path / "elsewhere")
    assert trial_content(short(moved)) == first
    assert trial_content(replace(short(tiny), about="in other words")) == first
    shutil.copytree(DEMO, tmp_path / "data" / "demo")
    assert trial_content(short(tiny), DataSource(tmp_path / "data")) == first


@pytest.mark.parametrize(
    "override", ["seed=1", "epoch_fraction=0.5", "optimizer.learning_rate=2e-4", "stages.0.epochs=3"]
)
def test_another_recipe_or_seed_is_another_training(tiny: Path, override: str) -> None:
    assert trial_content(short(tiny, override)) != trial_content(short(tiny))


def test_another_weight_is_another_training(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "other")
    weights = other / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    assert trial_content(short(other)) != trial_content(short(tiny))


def test_another_row_is_another_training(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "tasks/demo")
    settings = (STANDARD / "demo/sentiment.toml").read_text("utf-8").replace("../../../data/demo", "demo")
    (tmp_path / "tasks/mine.toml").write_text(settings, encoding="utf-8")
    recipe = short(tiny, f"tasks.sentiment.task={tmp_path}/tasks/mine.toml")
    first = trial_content(recipe)
    shutil.copytree(DEMO, tmp_path / "root/demo")
    assert trial_content(recipe, DataSource(tmp_path / "root")) == first
    with (tmp_path / "root/demo/sentiment-train.csv").open("a", encoding="utf-8") as file:
        file.write("one more row,0\n")
    assert trial_content(recipe, DataSource(tmp_path / "root")) != first


def test_the_order_of_the_tasks_counts_and_watching_does_not(tiny: Path) -> None:
    recipe = short(tiny)
    turned = replace(recipe, tasks=dict(reversed(recipe.tasks.items())))
    assert trial_content(turned) != trial_content(recipe)
    watched = replace(recipe, selection=replace(recipe.selection, gradient_cosine_rows=8))
    assert trial_content(watched) == trial_content(recipe)


def test_a_teacher_is_what_it_answers_and_not_where_it_lies(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "teacher")

    def student(folder: Path) -> Recipe:
        recipe = short(tiny)
        stages = tuple(replace(stage, distillation=Distillation(teachers=(str(folder),))) for stage in recipe.stages)
        return replace(recipe, stages=stages)

    moved = shutil.copytree(tmp_path / "teacher", tmp_path / "moved")
    first = trial_content(student(tmp_path / "teacher"))
    assert trial_content(student(moved)) == first
    run_all(demo_recipe(tiny, "seed=1"), tmp_path / "other")
    assert trial_content(student(tmp_path / "other")) != first


def test_recipes_that_come_to_the_same_training_are_trained_once(tiny: Path) -> None:
    trials = [make_trial("a", short(tiny)), make_trial("b", short(tiny))]
    assert [trial.label for trial in unique_trials(trials)] == ["a"]


def test_a_recipe_named_twice_is_a_mistake(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'a' is named twice"):
        Comparison(
            tmp_path, [LabeledRecipe("a", short(tiny)), LabeledRecipe("a", short(tiny, "seed=1"))], [0], Budget()
        )


# ---- trials that were killed at awkward instants ------------------------------------------------------


def train(trial: Trial, folder: Path) -> TrialResult:
    return train_trial(trial, folder, lambda done, total, remaining: None, lambda: None)


def test_a_trial_killed_before_it_had_a_run_json_is_trained(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny))
    trial.folder(tmp_path).mkdir(parents=True)
    (trial.folder(tmp_path) / "run.json.tmp").write_text("{")
    assert train(trial, tmp_path).state == "finished"


def test_run_json_is_the_only_record_of_a_finished_trial(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny), command="minbert compare demo")
    run = trial.folder(tmp_path)
    first = train(trial, tmp_path)
    about = run / "run.json"
    written, said = about.stat().st_mtime_ns, json.loads(about.read_text(encoding="utf-8"))
    assert {path.name for path in run.glob("*.json")} == {"run.json"}
    cost, where = TrialCost(**said["cost"]), f"trials/{run.name}"
    assert first == TrialResult(trial.key, "a", 0, "finished", "", said["scores"], said["overall"], cost, where)
    assert first.cost is not None and first.cost.seconds > 0 and first.cost.steps == said["steps"] == 3
    assert said["command"] == "minbert compare demo"
    # under another label, nothing is trained again
    assert train(replace(trial, label="b"), tmp_path) == replace(first, label="b")
    assert about.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    "damage", [lambda said: said[: len(said) // 2], lambda said: said.replace('"tokens"', '"words"')]
)
def test_a_damaged_run_json_says_what_to_do(tiny: Path, tmp_path: Path, damage: Callable[[str], str]) -> None:
    trial = make_trial("a", demo_recipe(tiny))
    train(trial, tmp_path)
    about = trial.folder(tmp_path) / "run.json"
    about.write_text(damage(about.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(UserError, match=r"run\.json: damaged") as wrong:
        read_result(tmp_path, trial.key, "a")
    assert wrong.value.next_step == "Remove this folder: the same `minbert compare` trains it again."
    again = train(trial, tmp_path)
    assert again.state == "failed" and "Remove this folder" in again.reason


def test_the_table_of_results_can_be_made_again_from_the_runs(tiny: Path, tmp_path: Path) -> None:
    recipes = [LabeledRecipe("a", demo_recipe(tiny))]
    list(Comparison(tmp_path, recipes, [0], Budget()).train(LocalEngine(tmp_path, 1), "a"))
    rows = Store(tmp_path / "results.sqlite").results()
    before = conclude(tmp_path)
    for path in tmp_path.glob("results.sqlite*"):
        path.unlink()
    # the report does not need it, and the same command fills it again
    assert conclude(tmp_path) == before and not Store(tmp_path / "results.sqlite").results()
    list(Comparison(tmp_path, recipes, [0], Budget()).train(LocalEngine(tmp_path, 1), "a"))
    assert Store(tmp_path / "results.sqlite").results() == rows


def test_the_progress_of_a_trial_is_read_from_its_files(tiny: Path, tmp_path: Path) -> None:
    trial = make_trial("a", demo_recipe(tiny, steps=6))
    assert read_progress(tmp_path, trial.key) is None
    asked = iter([None, None, 15])
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total, remaining: None, lambda: next(asked, 15))
    assert read_progress(tmp_path, trial.key) == (3, 6)
    # a line that is being written does not count yet
    with (trial.folder(tmp_path) / "metrics.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"step": 4, "los')
    assert read_progress(tmp_path, trial.key) == (3, 6)


def test_a_changed_file_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"one")
    first = file_sha256(path)
    assert file_sha256(path) == first
    path.write_bytes(b"two")
    # written within one tick of the file system's clock
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert file_sha256(path) != first


def test_another_description_does_not_keep_a_trial_from_resuming(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, steps=6)
    trial = make_trial("a", recipe)
    asked = iter([None, None, 15, 15])
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total, remaining: None, lambda: next(asked, 15))
    # nor does another number of rows by which its gradients are watched
    watched = replace(recipe.selection, gradient_cosine_rows=4)
    other = make_trial("b", replace(recipe, about="in other words", selection=watched))
    assert other.key == trial.key
    going: list[int] = []
    result = train_trial(other, tmp_path, lambda done, total, remaining: going.append(done), lambda: None)
    assert result.state == "finished" and going[0] > 0


def test_a_trial_that_cannot_be_resumed_starts_again(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, steps=6)
    trial = make_trial("a", recipe)
    with pytest.raises(Stopped):
        train_trial(trial, tmp_path, lambda done, total, remaining: None, lambda: 15)
    # as if it had been begun on a machine that computes otherwise
    about = trial.folder(tmp_path) / "run.json"
    said = json.loads(about.read_text(encoding="utf-8"))
    about.write_text(json.dumps(said | {"computes_in": "bfloat16"}), encoding="utf-8")
    assert train(trial, tmp_path).state == "finished"


def test_time_that_was_lost_with_a_kill_is_not_counted(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that ticks once per look: every step takes one second."""
    ticks = itertools.count()
    monkeypatch.setattr(fit, "time", types.SimpleNamespace(monotonic=lambda: float(next(ticks))))
    events = start_run(demo_recipe(tiny, steps=6), tmp_path / "run", every=CheckpointInterval(steps=4, seconds=None))
    # leaving it after step 5 saves nothing: steps 5 and 6 are trained after the checkpoint of step 4
    next(event for event in events if isinstance(event, Step) and event.number == 5)
    events.close()
    list(resume_run(tmp_path / "run"))
    assert read_run(tmp_path / "run")["cost"]["seconds"] == read_run(tmp_path / "run")["steps"] == 6


def test_the_same_training_by_two_names_is_timed_once(tiny: Path, tmp_path: Path) -> None:
    named = [LabeledRecipe("a", short(tiny)), LabeledRecipe("b", replace(short(tiny), about="in other words"))]
    work = Comparison(tmp_path, named, [0], Budget(seconds=1.0))
    told = list(work.train(LocalEngine(tmp_path, 1), "a"))
    assert [each.total for each in told if isinstance(each, Calibrating)] == [1, 1]
    assert len([each for each in told if isinstance(each, TrialResult)]) == 1
    # the table may be lost, and nothing is trained again
    (tmp_path / "results.sqlite").unlink()
    again = Comparison(tmp_path, named, [0], Budget(seconds=1.0)).train(LocalEngine(tmp_path, 1), "a")
    assert not [each for each in again if isinstance(each, Calibrating | TrialProgress)]
    found = conclude(tmp_path)
    assert found.complete and "a and b are the same training run here, under 2 names." in found.caveats


def test_data_that_change_under_a_comparison_are_noticed(tiny: Path, tmp_path: Path) -> None:
    trial = replace(make_trial("a", demo_recipe(tiny)), key="of other data")
    result = train(trial, tmp_path)
    assert (result.state, result.reason) == (
        "failed",
        "its data or weights have changed since the comparison was started.",
    )


def test_a_process_that_dies_while_timing_is_its_own_affair(tmp_path: Path) -> None:
    found = dict(LocalEngine(tmp_path, 2).call(divmod, {"good": (7, 2), "wrong": (7, 0)}))
    assert found["good"] == (3, 1)
    assert isinstance(found["wrong"], ZeroDivisionError)
    (died,) = dict(LocalEngine(tmp_path, 1).call(os._exit, {"died": (1,)})).values()
    assert isinstance(died, BrokenProcessPool)


# ---- budgets and seeds --------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [4, 10, 25])
def test_steps_are_kept_to(tiny: Path, steps: int) -> None:
    recipe = short(tiny)
    share = fraction_for_steps(recipe, steps)
    done = prepare(replace(recipe, epoch_fraction=share)).setup.steps
    # two epochs of equal length
    assert steps - 2 < done <= steps


def test_a_recipe_that_is_shorter_stays_whole(tiny: Path) -> None:
    assert fraction_for_steps(short(tiny), 10_000) == 1.0


def test_budgets_in_words() -> None:
    budgets = [Budget(), Budget(steps=1200), Budget(seconds=600), Budget(seconds=90)]
    assert [str(budget) for budget in budgets] == [
        "whole recipes",
        "1,200 steps per training run",
        "10 minutes of training each",
        "90 seconds of training each",
    ]
    assert Budget(seconds=90).scaled(1 / 3) == Budget(seconds=30)
    assert Budget(steps=100).scaled(1 / 3) == Budget(steps=33)


def test_a_trial_has_one_limit() -> None:
    assert read_budget("5m", None) == Budget(seconds=300)
    with pytest.raises(UserError, match="one limit"):
        read_budget("5m", 100)
    with pytest.raises(UserError, match="'soon' is not a duration"):
        read_budget("soon", None)


def test_seeds_are_a_number_or_a_list() -> None:
    assert read_seeds("3") == [0, 1, 2]
    assert read_seeds("3,5,8") == [3, 5, 8]
    for wrong in ("0", "-1", "a", "", "1,1", "2,-1"):
        with pytest.raises(UserError, match="--seeds"):
            read_seeds(wrong)
