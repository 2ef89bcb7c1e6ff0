"""docs/fidelity.md: every item of the five reports has a recipe, a command or a reason, and says where it departs."""

import re
import tomllib
from pathlib import Path

import pytest

from minbert.comparison.published import PublishedRow, read_published
from minbert.config.loading import SHIPPED, read_recipe, shipped_recipes

ROOT = Path(__file__).parents[1]
FIDELITY = ROOT / "docs/fidelity.md"
COLUMNS = ["item", "the report", "recipe or command", "what we do", "deviation and why", "test"]
LEFT_OUT = "left out on purpose"


def own_deviations(name: str) -> str:
    """What a recipe's own file says of its deviations, after those of the recipe that it extends."""
    table = tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    own = table.get("deviations", {})
    said = [f"{topic}: {text}" for topic, text in own.items() if text]
    dropped = [topic for topic, text in own.items() if not text]
    if "extends" in table:
        base = Path(table["extends"]).stem
        without = f" without its {', '.join(dropped)}" if dropped else ""
        said.insert(0, f"As `{base}`{without}.")
    return " ".join(said)


def recipes_of(row: PublishedRow) -> list[str]:
    return list(dict.fromkeys(row.models.values()))


def deviation_cell(row: PublishedRow) -> str:
    """The deviations of a row's recipes; where all recipes have the same, they are said once."""
    if row.models:
        said = {Path(recipe).name: own_deviations(recipe) for recipe in recipes_of(row)}
        if len(set(said.values())) == 1:
            return next(iter(said.values()))
        return " ".join(f"`{recipe}`: {text}" for recipe, text in said.items())
    parts = [f"composed of {', '.join(dict.fromkeys(row.compose.values()))}", row.note]
    hidden = "measured on dev rows, because the labels of the test rows are hidden" if row.split == "test" else ""
    return "; ".join(filter(None, [*parts, hidden]))


def read_items() -> dict[str, dict[str, str]]:
    """The rows of all tables of the page, by the name of the item."""
    items: dict[str, dict[str, str]] = {}
    for line in FIDELITY.read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| item |"):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == len(COLUMNS), line
        assert cells[0] not in items, f"{cells[0]} twice"
        items[cells[0]] = dict(zip(COLUMNS, cells, strict=True))
    return items


ITEMS = read_items()
ROWS = {row.id: row for report in read_published().values() for row in (*report.rows, *report.extras)}


def test_every_row_of_a_table_and_everything_else_that_can_be_trained_is_an_item() -> None:
    tables = [row.id for report in read_published().values() for row in report.rows]
    assert len(tables) == 45
    assert ROWS.keys() <= ITEMS.keys()
    # what the texts of the reports tried or named besides
    assert len(ITEMS) - len(tables) >= 31


@pytest.mark.parametrize("name", ITEMS)
def test_no_item_is_silent(name: str) -> None:
    item = ITEMS[name]
    assert item["the report"] and item["what we do"], "what the report says, and what we do"
    assert item["recipe or command"] and item["deviation and why"] and item["test"]
    for recipe in re.findall(r"`((?:papers|course)/[^`]+)`", item["recipe or command"]):
        assert recipe in shipped_recipes()
    if item["recipe or command"] == LEFT_OUT:
        assert len(item["deviation and why"]) > 40, "a reason"
        return
    assert "`" in item["recipe or command"], "a recipe, a command or a setting"
    for file, test in re.findall(r"`(test_\w+)\.py::(test_\w+)`", item["test"]):
        assert f"def {test}(" in (ROOT / f"tests/{file}.py").read_text(encoding="utf-8"), test
    assert "::" in item["test"], "the test that shows it"


@pytest.mark.parametrize("name", ROWS)
def test_a_row_has_its_recipes_and_their_deviations(name: str) -> None:
    row, item = ROWS[name], ITEMS[name]
    for recipe in recipes_of(row):
        assert f"`{recipe}`" in item["recipe or command"]
    assert item["deviation and why"] == deviation_cell(row).replace("|", "\\|")


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if name.startswith(("papers/", "course/"))])
def test_a_recipe_has_the_deviations_of_the_recipe_that_it_extends(name: str) -> None:
    table = tomllib.loads((SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))
    recipe = read_recipe(name)
    inherited = {}
    if "extends" in table:
        base = (SHIPPED / f"{name}.toml").parent / table["extends"]
        inherited = read_recipe(str(base)).deviations
    own = table.get("deviations", {})
    assert recipe.deviations == {topic: text for topic, text in (inherited | own).items() if text}
    # only what is inherited can be dropped
    assert {topic for topic, text in own.items() if not text} <= inherited.keys()
