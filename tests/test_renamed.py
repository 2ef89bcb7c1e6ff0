"""Old names of settings and techniques -> an error that says the new one."""

from pathlib import Path

import pytest

from minbert.config.loading import read_recipe
from minbert.config.recipe import Optimizer, Recipe, Selection, Stage, TaskPlan
from minbert.config.renamed import MOVED_TO_ALGORITHM, RENAMED_SETTINGS, RENAMED_TECHNIQUES
from minbert.config.schema import settings_of
from minbert.config.task import Task, read_task
from minbert.errors import UserError
from minbert.training.prepare import outline
from minbert.training.registry import FAMILIES
from tests.tiny import tiny_config

# where a setting is written in a recipe, and by which path --set reaches it
PLACES = {
    Recipe: ("{} = {}\n[tasks.sst]\n", "{}={}"),
    TaskPlan: ("[tasks.sst]\n{} = {}\n", "tasks.sst.{}={}"),
    Stage: ("[tasks.sst]\n[[stages]]\n{} = {}\n", "stages.0.{}={}"),
    Optimizer: ("[tasks.sst]\n[optimizer]\n{} = {}\n", "optimizer.{}={}"),
    Selection: ("[tasks.sst]\n[selection]\n{} = {}\n", "selection.{}={}"),
}


WITH_STAGE = "[tasks.sst]\n[[stages]]\nepochs = 1\n"


def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, *overrides: str) -> str:
    monkeypatch.chdir(tmp_path)
    Path("recipe.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        recipe = read_recipe("recipe.toml", overrides)
        outline(recipe, recipe.read_tasks(), tiny_config())
    return str(caught.value)


@pytest.mark.parametrize(("old", "new"), RENAMED_SETTINGS.items())
def test_an_old_setting_names_the_new_one(old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (owner,) = (each for each in (*PLACES, Task) if new in settings_of(each))
    assert old not in settings_of(owner)
    if owner is Task:
        path = tmp_path / "mine.toml"
        path.write_text(f'kind = "classify"\ntext = ["a"]\nlabel = "b"\n{old} = 1\n', encoding="utf-8")
        with pytest.raises(UserError) as caught:
            read_task("mine", str(path))
        assert str(caught.value) == f"{path}: '{old}' is now called '{new}'."
        return
    text, override = PLACES[owner]
    expected = f"recipe.toml: '{old}' is now called '{new}'."
    assert refusal(tmp_path, monkeypatch, text.format(old, 1)) == expected
    assert refusal(tmp_path, monkeypatch, WITH_STAGE, override.format(old, 1)) == expected


@pytest.mark.parametrize("old", ["optimiser", "regularisers"])
def test_an_old_table_names_the_new_one(old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "[tasks.sst]\n[optimiser]\nlearning_rate = 1\n"
        if old == "optimiser"
        else "[tasks.sst]\n[defaults]\nregularisers = []\n"
    )
    assert f"'{old}' is now called" in refusal(tmp_path, monkeypatch, text)


@pytest.mark.parametrize(
    ("family", "old", "new"),
    [(family, old, new) for family, names in RENAMED_TECHNIQUES.items() for old, new in names.items()],
)
def test_an_old_technique_names_the_new_one(
    family: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if family in FAMILIES:
        assert new in FAMILIES[family] and old not in FAMILIES[family]
    place = "tasks.sst" if family in settings_of(TaskPlan) else "stages.0"
    said = refusal(tmp_path, monkeypatch, WITH_STAGE, f"{place}.{family}={old}")
    assert said.startswith("recipe.toml: ")
    assert said.endswith(f"{family} '{old}' is now called '{new}'.")
    if family in FAMILIES:
        again = refusal(tmp_path, monkeypatch, WITH_STAGE, f'{place}.{family}={{name = "{old}"}}')
        assert again == said


def test_the_old_mix_names_the_table_overall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(tmp_path, monkeypatch, '[tasks.sst]\n[selection]\nmix = { "sst.accuracy" = 1 }\n')
    assert said == "recipe.toml: 'selection.mix' is now the table [overall], which ranks and selects models."


@pytest.mark.parametrize(("old", "new"), MOVED_TO_ALGORITHM.items())
def test_a_setting_of_adamw_names_its_new_place(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old not in settings_of(Optimizer) and new in settings_of(FAMILIES["algorithm"]["adamw"])
    expected = (
        f"recipe.toml: 'optimizer.{old}' is now a setting of the algorithm: "
        f'write algorithm = {{ name = "adamw", {new} = ... }} in [optimizer].'
    )
    text, override = PLACES[Optimizer]
    assert refusal(tmp_path, monkeypatch, text.format(old, 1)) == expected
    assert refusal(tmp_path, monkeypatch, WITH_STAGE, override.format(old, 1)) == expected


def test_a_name_that_is_old_elsewhere_is_just_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refusal(tmp_path, monkeypatch, "[tasks.sst]\n", "optimizer.free=1")
    assert said.startswith("recipe.toml: unknown setting 'free' of 'optimizer'.")
