"""Comparisons: which cells there are, what makes two of them the same, and what a budget means."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from minbert.budget import share_for_steps
from minbert.cells import content, make_cell
from minbert.cli.compare import read_budget, read_seeds
from minbert.compare import Budget, Comparison, unique
from minbert.errors import UserError
from minbert.prepare import prepare
from minbert.recipe import Recipe
from minbert.sharing import Variant
from tests.workbench import DEMO, demo_recipe


def short(tiny: Path, *overrides: str) -> Recipe:
    return demo_recipe(tiny, *overrides, epochs=2, steps=20)


# ---- what a cell is known by --------------------------------------------------------------------------


def test_the_same_training_has_the_same_name_wherever_its_files_lie(tiny: Path, tmp_path: Path) -> None:
    first = content(short(tiny), None)
    moved = shutil.copytree(tiny, tmp_path / "elsewhere")
    assert content(short(moved), None) == first
    assert content(replace(short(tiny), about="in other words"), None) == first
    data = tmp_path / "data"
    shutil.copytree(DEMO, data / "demo")
    assert content(short(tiny), data) == first


@pytest.mark.parametrize("override", ["seed=1", "share=0.5", "optimiser.learning_rate=2e-4", "stages.0.epochs=3"])
def test_another_recipe_or_seed_is_another_training(tiny: Path, override: str) -> None:
    assert content(short(tiny, override), None) != content(short(tiny), None)


def test_another_weight_is_another_training(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "other")
    weights = other / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[-1] ^= 1
    weights.write_bytes(raw)
    assert content(short(other), None) != content(short(tiny), None)


def test_another_row_is_another_training(tiny: Path, tmp_path: Path) -> None:
    recipe = short(tiny)
    task = recipe.read_tasks()["sentiment"]
    assert task.files.train is not None
    first = content(recipe, None)
    folder = task.folder
    assert folder is not None
    place = tmp_path / task.files.train
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text((folder / task.files.train).read_text("utf-8") + "one more row,0\n", encoding="utf-8")
    assert content(recipe, tmp_path) != first


def test_recipes_that_come_to_the_same_training_are_trained_once(tiny: Path) -> None:
    cells = [make_cell("a", short(tiny), None), make_cell("b", short(tiny), None)]
    assert [cell.label for cell in unique(cells)] == ["a"]


def test_a_recipe_named_twice_is_a_mistake(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'a' is named twice"):
        Comparison(tmp_path, [Variant("a", short(tiny)), Variant("a", short(tiny, "seed=1"))], [0], Budget())


# ---- budgets and seeds --------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [4, 10, 25])
def test_steps_are_kept_to(tiny: Path, steps: int) -> None:
    recipe = short(tiny)
    share = share_for_steps(recipe, steps)
    done = prepare(replace(recipe, share=share), None).learning.steps
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
