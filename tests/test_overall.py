"""[overall] of a recipe: what it may say, how recipes inherit it, and what shipped recipes declare."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from minbert.comparison.published import REPORT_METRICS, REPORT_OVERALL, published_overall
from minbert.config.loading import read_recipe, shipped_recipes
from minbert.config.overall_terms import OverallTerm, overall_from, overall_terms
from minbert.config.recipe import Recipe
from minbert.data.overall_score import overall
from minbert.errors import UserError
from minbert.runs.directory import declared_overall
from minbert.runs.merge import make_ensemble
from minbert.training.prepare import outline
from minbert.training.resolve import resolve_recipe
from tests.tiny import tiny_config
from tests.workbench import Minbert, demo_recipe, run_all

SHIFTED = OverallTerm(transform="zero_to_one")
BASE = """
tasks = ["sst", "quora", "sts"]
[overall]
"sst.accuracy" = 1
"quora.f1" = 2
"sts.pearson" = { transform = "zero_to_one" }
"""
# trains only the encoder
WORDS = '[tasks.words]\ntask = "sst"\npooling = "masked_tokens"\nhead = "mlm"\nloss = "mlm"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(BASE, encoding="utf-8")
    return tmp_path


def read(text: str, *overrides: str) -> Recipe:
    Path("x.toml").write_text(text, encoding="utf-8")
    return read_recipe("x.toml", overrides)


def child(text: str, *overrides: str) -> Recipe:
    return read(f'extends = "base.toml"\n{text}', *overrides)


def checked(recipe: Recipe) -> Recipe:
    """As it is before any training."""
    outline(recipe, recipe.read_tasks(), tiny_config())
    return recipe


def refusal(recipe: Recipe) -> str:
    with pytest.raises(UserError) as caught:
        checked(recipe)
    return str(caught.value)


# ---- shipped recipes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in shipped_recipes() if REPORT_METRICS.keys() <= set(read_recipe(name).tasks)]
)
def test_shipped_recipes_of_the_reports_three_tasks_declare_their_formula(name: str) -> None:
    recipe = read_recipe(name)
    tasks = recipe.read_tasks()
    resolved = overall_from(resolve_recipe(recipe, tasks)["overall"], name)
    for sst, quora, sts in np.random.default_rng(1).random((20, 3)):
        scores = {"sst": {"accuracy": sst}, "quora": {"accuracy": quora}, "sts": {"pearson": sts}}
        others = {each: {task.metric: 0.5} for each, task in tasks.items() if each not in scores}
        assert overall(scores | others, tasks, resolved) == (sst + quora + (sts + 1) / 2) / 3
        assert published_overall({"sst": sst, "quora": quora, "sts": sts}) == (sst + quora + (sts + 1) / 2) / 3


@pytest.mark.parametrize("task", ["sst", "quora", "sts"])
def test_a_report_recipe_for_one_task_keeps_the_term_of_that_task(task: str) -> None:
    for name in (f"papers/b-cross-encoding/single-{task}", f"papers/c-pals/single-{task}"):
        recipe = checked(read_recipe(name))
        assert overall_terms(recipe.overall, recipe.read_tasks()) == {
            measure: term for measure, term in REPORT_OVERALL.items() if measure.startswith(f"{task}.")
        }


def test_left_out_the_resolved_recipe_has_the_main_metric_of_each_task_that_is_measured(folder: Path) -> None:
    recipe = checked(read(f"[tasks.sst]\n[tasks.sts]\n{WORDS}"))
    assert recipe.overall == {}
    assert resolve_recipe(recipe, recipe.read_tasks())["overall"] == {"sst.accuracy": 1.0, "sts.pearson": 1.0}


# ---- what it may say ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['[overall]\n"sst.accuracy" = 2', "[overall]\nsst.accuracy = 2", "[overall.sst]\naccuracy = 2"]
)
def test_quotes_may_be_forgotten(folder: Path, text: str) -> None:
    assert checked(read(f"[tasks.sst]\n{text}")).overall == {"sst.accuracy": 2.0}


@pytest.mark.parametrize("weight", ["0", "-1", "{ weight = 0 }", "{ weight = -0.5 }"])
def test_weights_are_above_zero(folder: Path, weight: str) -> None:
    with pytest.raises(UserError, match=r"sst\.accuracy.* should be above 0, not "):
        read(f'[tasks.sst]\n[overall]\n"sst.accuracy" = {weight}')


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ('"sts.pearson" = { wight = 1 }', "unknown setting 'wight' of 'overall.sts.pearson'. Did you mean 'weight'?"),
        (
            '"sts.pearson" = { transform = "half" }',
            "setting 'transform' of 'overall.sts.pearson' should be 'none' or 'zero_to_one', not 'half'.",
        ),
    ],
)
def test_a_term_of_a_wrong_form_is_named(folder: Path, term: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        read(f"[tasks.sts]\n[overall]\n{term}")
    assert str(caught.value) == f"x.toml: {reason}"


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ('"stt.accuracy" = 1', "'stt.accuracy' should be task.metric. Did you mean 'sst'?"),
        ("sst = 1", "'sst' should be task.metric, for example 'sst.accuracy'."),
        ('"sst.acuracy" = 1', "unknown metric 'acuracy' of task 'sst'. Did you mean 'accuracy'?"),
        ('"sst.pearson" = 1', "unknown metric 'pearson' of task 'sst'. Known: accuracy, f1, log_loss, macro_f1."),
        ('"words.accuracy" = 1', "task 'words' only trains the encoder, so it has no accuracy.\nRemove this term."),
    ],
)
def test_a_term_that_cannot_be_measured_is_refused_before_training(folder: Path, term: str, reason: str) -> None:
    assert refusal(read(f"[tasks.sst]\n{WORDS}[overall]\n{term}")) == f"x.toml: [overall]: {reason}"


# ---- extends and --set --------------------------------------------------------------------------------


def test_terms_are_merged_with_those_of_the_recipe_below(folder: Path) -> None:
    recipe = checked(child('[tasks.cfimdb]\n[overall]\n"cfimdb.accuracy" = 1\n"sts.pearson" = { weight = 3 }'))
    assert recipe.overall == {
        "sst.accuracy": 1.0,
        "quora.f1": 2.0,
        "sts.pearson": OverallTerm(weight=3.0, transform="zero_to_one"),
        "cfimdb.accuracy": 1.0,
    }
    assert child("overall = false").overall == {}


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ('tasks = ["sts", "sst"]', []),
        ("tasks.quora = false", []),
        ("", ['tasks=["sst", "sts"]']),
        ("", ["tasks.quora=false"]),
        ('tasks = ["sst", "sts", "quora"]', ["tasks.quora=false"]),
    ],
)
def test_terms_of_tasks_that_are_left_out_disappear(folder: Path, text: str, overrides: list[str]) -> None:
    assert checked(child(text, *overrides)).overall == {"sst.accuracy": 1.0, "sts.pearson": SHIFTED}


def test_where_no_term_is_left_the_default_applies(folder: Path) -> None:
    recipe = checked(child('tasks = ["cfimdb"]'))
    assert recipe.overall == {}
    assert resolve_recipe(recipe, recipe.read_tasks())["overall"] == {"cfimdb.accuracy": 1.0}


def test_a_term_of_a_task_that_never_existed_stays_an_error(folder: Path) -> None:
    assert "'stt.accuracy' should be task.metric" in refusal(child('tasks = ["sst"]\noverall."stt.accuracy" = 1'))
    # its own term of a task that it leaves out itself
    assert "'quora.f1' should be task.metric" in refusal(child('tasks = ["sst"]\noverall."quora.f1" = 1'))


def test_terms_can_be_overridden_one_by_one(folder: Path) -> None:
    assert child("", "overall.sst.accuracy=5").overall["sst.accuracy"] == 5.0
    assert child("", 'overall.sts.pearson={weight = 2, transform = "none"}').overall["sts.pearson"] == OverallTerm(
        weight=2.0
    )
    assert child("", "overall=false").overall == {}
    with pytest.raises(UserError, match=r"x\.toml: 'selection\.mix' is now the table \[overall\]"):
        child("", 'selection.mix={"sst.accuracy" = 1}')


# ---- runs -----------------------------------------------------------------------------------------------


def test_an_ensemble_has_the_terms_of_its_members(tiny: Path, tmp_path: Path, minbert: Minbert) -> None:
    for task, term in {
        "sentiment": '"sentiment.macro_f1" = 3',
        "similarity": '"similarity.mse" = { weight = 1 }',
    }.items():
        run_all(demo_recipe(tiny, f'tasks=["{task}"]', f"overall={{{term}}}"), tmp_path / task)
    make_ensemble([tmp_path / "sentiment", tmp_path / "similarity"], tmp_path / "both")
    assert declared_overall(tmp_path / "both") == {"sentiment.macro_f1": 3.0, "similarity.mse": 1.0}
    said = json.loads(minbert("evaluate", tmp_path / "both", "--json").out)
    scores = said["tasks"]
    expected = (3 * scores["sentiment"]["macro_f1"] - scores["similarity"]["mse"]) / 4
    assert said["overall"] == pytest.approx(expected)
    # the main metrics of a model whose run is not known
    shutil.copytree(tmp_path / "similarity/model", tmp_path / "bare/model")
    assert declared_overall(tmp_path / "bare") == {}
