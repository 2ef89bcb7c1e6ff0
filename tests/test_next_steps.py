"""What a newcomer types wrongly, and the next step that each mistake is answered with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.comparison.budget import Budget, BudgetTooShort
from minbert.comparison.compare import Comparison
from minbert.comparison.engines.local import LocalEngine
from minbert.comparison.published import choose_rows
from minbert.comparison.transfer import LabeledRecipe
from minbert.config import recipe
from minbert.config.loading import shipped_recipes
from minbert.config.other_names import OTHER_SETTINGS, OTHER_TECHNIQUES, PLACES, setting_path
from minbert.config.schema import settings_of
from minbert.data.source import DataSource
from minbert.errors import UserError
from minbert.training.optimizers import OPTIMIZERS
from minbert.training.registry import FAMILIES
from tests.workbench import DEMO, Minbert, demo_recipe, run_all, write_csv

HYBRID = "papers/e-adaptation/hybrid"


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_all(demo_recipe(tiny), folder)
    return folder


# ---- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("epochs=3", "The setting is 'stages.0.epochs'."),
        ("num_train_epochs=3", "The setting is 'stages.0.epochs'."),
        ("lr=1e-4", "The setting is 'optimizer.learning_rate'."),
        ("learning_rate=1e-4", "The setting is 'optimizer.learning_rate'."),
        ("max_rows_per_task=100", "The setting is 'stages.0.max_rows_per_task'."),
        ("per_device_train_batch_size=8", "The setting is 'defaults.batch_size'."),
        ("warmup_steps=8", "The setting is 'optimizer.warmup_ratio'."),
        ("lr_scheduler_type=cosine", "The setting is 'optimizer.schedule'."),
        ("model_name_or_path=bert-base", "Did you mean 'backbone'?"),
        ("head=linear", "The setting is 'defaults.head'."),
        ("optimizer.lr=1e-4", "Did you mean 'learning_rate'?"),
        ("optimizer.momentum=0.9", "The setting is 'optimizer.algorithm.momentum'."),
        ("optimizer.epochs=3", "The setting is 'stages.0.epochs'."),
        ("stages.0.num_epochs=3", "Did you mean 'epochs'?"),
        ("tasks.sentiment.epochs=3", "The setting is 'stages.0.epochs'."),
        ("stages.epochs=3", "Write stages.0.epochs."),
        ("stages.1.epochs=3", "'stages' has the places 0 to 0, not '1'."),
        ("defaults.head=mlp", "unknown head 'mlp'. Did you mean 'two_layer'?"),
        ("defaults.head=classification", "Did you mean 'linear'?"),
        ("tasks.sentiment.loss=ce", "Did you mean 'cross_entropy'?"),
        ('defaults.adapters=["x"]', "unknown adapter 'x'."),
        ('defaults.regularizers=["x"]', "unknown regularizer 'x'."),
        ("optimizer.algorithm=adamw_torch", "unknown algorithm 'adamw_torch'. Did you mean 'adamw'?"),
    ],
)
def test_settings_by_other_names_and_in_other_places(setting: str, answer: str, minbert: Minbert) -> None:
    said = minbert("show", "demo", "--set", setting)
    assert said.code == 2
    assert answer in said.err


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("epochs=3", "The setting is 'stages.0.each.0.epochs'."),
        ("stages.1.sampler=at_once", "write stages.0.each.0.sampler (stages.0.each.0 to stages.0.each.1)"),
        ("stages.max_rows_per_task=9", "write stages.0.each.0.max_rows_per_task"),
        ("stages.0.epochs=3", "stages.0.each.0.epochs"),
    ],
)
def test_settings_of_stages_that_repeat(setting: str, answer: str, minbert: Minbert) -> None:
    said = minbert("show", HYBRID, "--set", setting)
    assert said.code == 2
    assert answer in said.err.replace("\n", " ")


def test_the_paths_that_are_named_exist() -> None:
    """Every word leads to a setting that the recipe's classes have, and every technique is in its family."""
    owners: Mapping[str, Any] = {
        "": recipe.Recipe,
        "optimizer": recipe.Optimizer,
        "stages.0": recipe.Stage,
        "selection": recipe.Selection,
        "defaults": recipe.TaskPlan,
    }
    of_algorithms = {name for make in OPTIMIZERS.values() for name in settings_of(make)}
    for name, place in PLACES.items():
        assert name in (of_algorithms if place == "optimizer.algorithm" else settings_of(owners[place]))
    assert of_algorithms <= set(PLACES)
    assert set(OTHER_SETTINGS.values()) <= set(PLACES)
    assert all(setting_path(word) for word in OTHER_SETTINGS)
    for family, words in OTHER_TECHNIQUES.items():
        assert set(words.values()) <= set(FAMILIES[family])
        assert not set(words) & set(FAMILIES[family])


# ---- recipes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_task_file_or_a_data_file_is_no_recipe(command: str, minbert: Minbert, tmp_path: Path) -> None:
    task = tmp_path / "films.toml"
    task.write_text('kind = "classify"\ntext = ["review"]\nlabel = "liked"\n')
    said = minbert(command, task)
    assert said.code == 2
    assert "a task file, not a recipe" in said.err and 'task = "films.toml"' in said.err
    said = minbert("show", write_csv(tmp_path / "films.csv", "review,liked", ["good,yes"]))
    assert said.code == 2
    assert "a data file, not a recipe" in said.err and "minbert train" in said.err


def test_recipes_are_found_by_their_last_part_and_by_rows_of_reports(minbert: Minbert) -> None:
    whole = minbert("show", HYBRID).out
    assert minbert("show", "hybrid").out == whole != ""
    assert minbert("show", "e13").out == minbert("show", "papers/e-adaptation/low-rank-top").out != ""


def test_a_last_part_that_several_recipes_have_is_a_question(minbert: Minbert) -> None:
    named = [name for name in shipped_recipes() if name.endswith("/single-sst")]
    said = minbert("show", "single-sst")
    assert said.code == 2 and len(named) == 2
    assert "several recipes 'single-sst'" in said.err and all(name in said.err for name in named)
    # b9 is composed of the models of b2, one for each task
    models = {name for row in choose_rows("b") if row.id == "b2" for name in row.models.values()}
    said = minbert("show", "b9")
    assert said.code == 2 and len(models) == 3
    assert "Row b2 has several recipes" in said.err and all(name in said.err for name in models)


def test_a_directory_is_answered_with_a_file_in_it(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    said = minbert("check", run)
    assert said.code == 2
    assert "is a run, not a recipe" in said.err and f"Did you mean {run / 'recipe.toml'}?" in said.err
    data = write_csv(tmp_path / "mine/reviews.csv", "text,label", [f"film {i},{i % 2}" for i in range(20)])
    said = minbert("train", data.parent, "--out", tmp_path / "run")
    assert said.code == 2 and "Name a file in it. It has reviews.csv." in said.err
    assert minbert("init", data, "--out", tmp_path / "written").code == 0
    said = minbert("train", tmp_path / "written", "--out", tmp_path / "run")
    assert said.code == 2 and f"Did you mean {tmp_path / 'written/recipe.toml'}?" in said.err


def test_an_unknown_recipe_is_no_reason_to_list_all_of_them(minbert: Minbert) -> None:
    said = minbert("show", "xyzzy")
    assert said.code == 2 and "There is no recipe 'xyzzy'." in said.err
    assert "minbert recipes" in said.err and len(said.err.splitlines()) == 2
    assert "Did you mean 'baseline'?" in minbert("show", "baselin").err


def test_a_setting_of_a_task_that_the_recipe_does_not_have(minbert: Minbert, tmp_path: Path, tiny: Path) -> None:
    data = write_csv(tmp_path / "reviews.csv", "text,label", [f"film {i},{i % 2}" for i in range(40)])
    words = ("check", data, "--set", f"backbone={tiny}", "--set")
    said = minbert(*words, "tasks.stars.head=mlp")
    assert said.code == 2 and "there is no task 'stars'. Known: label." in said.err
    assert "Did you mean 'label'?" in minbert(*words, "tasks.lable.head=linear").err
    assert "Did you mean 'label'?" in minbert(*words, "tasks.lable.task.metric=f1").err


@pytest.mark.parametrize("named", ["reviews.csv", "recipe.toml", "demo"])
def test_the_metric_is_a_setting_of_the_task(named: str, minbert: Minbert, tmp_path: Path, tiny: Path) -> None:
    data = write_csv(tmp_path / "reviews.csv", "text,sentiment", [f"film {i},{i % 2}" for i in range(40)])
    assert minbert("init", data, "--out", tmp_path, "--force").code == 0
    words = ("check", named if named == "demo" else tmp_path / named, "--set", f"backbone={tiny}", "--set")
    said = minbert(*words, "tasks.sentiment.metric=macro_f1")
    assert said.code == 2 and "--set tasks.sentiment.task.metric=..." in said.err
    assert minbert(*words, "tasks.sentiment.task.metric=macro_f1").code == 0
    assert "unknown metric 'macro'" in minbert(*words, "tasks.sentiment.task.metric=macro").err


# ---- runs ---------------------------------------------------------------------------------------------


def test_an_interrupted_run_is_to_be_resumed(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    """Whatever a user does with it: train again into its folder, predict, or list it."""
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    about = json.loads((run / "run.json").read_text(encoding="utf-8"))
    about = {name: value for name, value in about.items() if name not in ("scores", "overall", "seconds")}
    (stopped / "run.json").write_text(json.dumps(about | {"state": "interrupted", "reason": "SIGINT"}))
    for words in (("train", "demo", "--out", stopped), ("predict", stopped, "sentiment", "x"), ("evaluate", stopped)):
        said = minbert(*words)
        assert said.code == 2
        assert f"minbert resume {stopped}" in said.err
    assert f"minbert resume {stopped}" in minbert("runs", tmp_path).out


def test_a_folder_of_runs_that_does_not_exist(minbert: Minbert, tmp_path: Path) -> None:
    said = minbert("runs", tmp_path / "nowhere")
    assert said.code == 2
    assert "nowhere: no such directory" in said.err
    assert minbert("runs", tmp_path).out == f"No runs in {tmp_path}.\n"


# ---- predict, embed, tasks ----------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [("",), ("  ",), ("a", "")])
def test_an_empty_text(texts: tuple[str, ...], minbert: Minbert, run: Path) -> None:
    said = minbert("predict", run, "sentiment", *texts)
    assert said.code == 2
    assert "The text is empty." in said.err


def test_several_tasks_on_one_text(minbert: Minbert, run: Path) -> None:
    pair = ("How old is the Earth?", "What is its age?")
    both = json.loads(minbert("predict", run, "paraphrase,similarity", *pair, "--json").out)
    assert list(both) == ["paraphrase", "similarity"]
    for task, found in both.items():
        assert found == json.loads(minbert("predict", run, task, *pair, "--json").out)
    assert json.loads(minbert("predict", run, "all", *pair, "--json").out) == both
    shown = minbert("predict", run, "all", *pair).out.splitlines()
    assert shown[0].split() == ["task", "prediction", "probability"]
    assert shown[1].split()[:2] == ["paraphrase", both["paraphrase"]["label"]]
    assert shown[2].split() == ["similarity", f"{both['similarity']['score']:.2f}"]
    # of one text, only the task that reads one
    alone = json.loads(minbert("predict", run, "all", "A fine day.", "--json").out)
    assert alone == {"sentiment": json.loads(minbert("predict", run, "sentiment", "A fine day.", "--json").out)}
    assert minbert("predict", run, "all", "A fine day.").out.splitlines()[1].startswith("sentiment  ")
    assert "reads 1 text, not 2" in minbert("predict", run, "paraphrase,sentiment", *pair).err


def test_a_column_of_a_table_is_embedded(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    output, file = tmp_path / "x.npy", DEMO / "sentiment-dev.csv"
    said = minbert("embed", tiny, file, output)
    assert said.code == 2
    assert "--column NAME" in said.err and "The file has the columns id, sentence, sentiment." in said.err
    assert "Did you mean 'sentence'?" in minbert("embed", tiny, file, output, "--column", "sentense").err
    rows = ['"One, with a comma"', "Two", "", "Four"]
    table = write_csv(tmp_path / "t.csv", "text,n", [f"{row},1" for row in rows])
    assert minbert("embed", tiny, table, output, "--column", "text").code == 0
    lines = tmp_path / "t.txt"
    lines.write_text("One, with a comma\nTwo\n\nFour\n", encoding="utf-8")
    assert minbert("embed", tiny, lines, tmp_path / "lines.npy").code == 0
    np.testing.assert_array_equal(np.load(output), np.load(tmp_path / "lines.npy"))


def test_tasks_tell_which_files_are_here(minbert: Minbert, tmp_path: Path) -> None:
    write_csv(tmp_path / "ids-sst-train.csv", "id,sentence,sentiment", [])
    found = {
        each["task"]: each["files"] for each in json.loads(minbert("tasks", "--data-root", tmp_path, "--json").out)
    }
    assert found["sst"]["train"]["found"] == str(tmp_path / "ids-sst-train.csv")
    assert found["sst"]["dev"]["found"] is None
    assert found["demo/sentiment"]["train"]["found"] == str(DEMO / "sentiment-train.csv")
    shown = minbert("tasks", "--data-root", tmp_path).out
    assert "found ids-sst-train.csv; not found ids-sst-dev.csv" in " ".join(shown.split())


def test_a_wrong_choice_is_named_plainly(minbert: Minbert, run: Path) -> None:
    said = minbert("evaluate", run, "--precision", "f")
    assert said.code == 2
    assert "'f' is not one of 'auto'" in said.err and "Value error" not in said.err


# ---- compare ------------------------------------------------------------------------------------------


def test_a_budget_that_cannot_be_kept_is_rejected_before_training(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    """The message names the shortest budget that can be kept, and that one is accepted."""
    words = ("compare", "demo", "--backbone", tiny, "--seeds", 1, "--out", tmp_path / "cmp")
    said = minbert(*words, "--budget", "0.001s")
    assert said.code == 2
    assert "demo: a budget of 0.001 s is too short: one batch of each task in each epoch takes about" in said.err
    assert "Give --budget " in said.err
    assert not list((tmp_path / "cmp").glob("trials/*"))


def test_a_short_budget_for_one_task_counts_for_the_whole(tmp_path: Path, tiny: Path) -> None:
    """A recipe with a third of the budget needs three times its own seconds."""
    whole, part = LabeledRecipe("all", demo_recipe(tiny)), LabeledRecipe("alone", demo_recipe(tiny), 1 / 3)
    work = Comparison(tmp_path, [whole], [0], Budget(seconds=10, strict=True), [part])
    with pytest.raises(UserError, match="alone: a budget of 10 s is too short") as wrong:
        work.check_budget({"all": BudgetTooShort(20.0), "alone": BudgetTooShort(10.0)})
    # 30 s, and a margin
    assert "--budget 36s" in wrong.value.next_step
    work.check_budget({})


def test_a_strict_budget_is_kept_or_refused(tiny: Path) -> None:
    chosen = demo_recipe(tiny, epochs=2)
    with pytest.raises(BudgetTooShort) as wrong:
        Budget(seconds=1e-6, strict=True).epoch_fraction_of(chosen, DataSource())
    assert wrong.value.seconds > 0
    assert 0 < Budget(seconds=1e-6).epoch_fraction_of(chosen, DataSource()) <= 1


def test_short_budgets_are_scored_on_fewer_rows() -> None:
    seconds = [None, 3600, 100, 60, 10, 1]
    assert [Budget(each).eval_rows for each in seconds] == [500, 500, 500, 300, 50, 50]


def test_trials_respect_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minbert.comparison.engines.base.available_cores", lambda: 8)
    for limit, threads in ((None, 4), ("1", 1), ("3", 3), ("16", 4), ("0", 4), ("many", 4)):
        if limit is None:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert LocalEngine(tmp_path, 2).threads == threads


def test_a_text_without_a_task_is_said(minbert: Minbert, tmp_path: Path) -> None:
    said = minbert("predict", tmp_path, "A dull film.")
    assert said.code == 2 and "'A dull film.' is read as the name of a task, and no text follows." in said.err
    assert "minbert predict RUN TASK" in said.err
