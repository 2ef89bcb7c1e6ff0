"""A second look at the same trials is labeled: p-values are corrected for the tests of one comparison only."""

import json
from pathlib import Path
from typing import Any

import pytest

from minbert.comparison.conclude import conclude
from minbert.comparison.history import exploratory_reasons, read_history, record_conclusion
from tests.workbench import Minbert


def plan_of(*compared: str, seeds: int = 2, keys: str = "") -> dict[str, Any]:
    """A request whose baseline is the first recipe. `keys`: of a recipe that was changed, or of another budget."""
    trials = [
        {"key": f"{label}{keys}{seed}", "label": label, "seed": seed} for seed in range(seeds) for label in compared
    ]
    trials += [{"key": f"alone{seed}", "label": "alone: x", "seed": seed} for seed in range(seeds)]
    return {
        "command": "minbert compare",
        "baseline": compared[0],
        "compared": list(compared),
        "seeds": list(range(seeds)),
        "trials": trials,
    }


def ask(folder: Path, plan: dict[str, Any]) -> list[str]:
    """Request, train and conclude; returns why its tests are exploratory."""
    path = folder / "compare.json"
    path.write_text(json.dumps(plan | {"history": read_history(path)}), encoding="utf-8")
    said = list(exploratory_reasons(json.loads(path.read_text(encoding="utf-8"))))
    record_conclusion(folder)
    return [sentence.removeprefix("Exploratory: ").partition(".")[0] for sentence in said]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (plan_of("a", "b"), None),
        (plan_of("b", "a"), "some of these trials were compared with another baseline before (a)"),
        (plan_of("a", "c"), "some of these trials were compared with another set of recipes before"),
        (plan_of("a", "b", "c"), "some of these trials were compared with another set of recipes before"),
        (plan_of("a", "b", seeds=3), "seeds were added after the first look"),
        (plan_of("a", "b", seeds=1), "the same recipes were compared with other seeds before"),
        # other trials altogether, as with another budget
        (plan_of("a", "b", keys="budget"), None),
        (plan_of("c", "d"), None),
    ],
)
def test_what_makes_tests_exploratory(tmp_path: Path, second: dict[str, Any], reason: str | None) -> None:
    assert ask(tmp_path, plan_of("a", "b")) == []
    assert ask(tmp_path, second) == ([] if reason is None else [reason])
    # the first tests remain what they were, and so do the second
    assert ask(tmp_path, plan_of("a", "b")) == []
    assert ask(tmp_path, second) == ([] if reason is None else [reason])


def test_other_names_of_the_same_recipes_are_no_other_recipes(tmp_path: Path) -> None:
    renamed = plan_of("a", "b")
    renamed["trials"] = [trial | {"label": trial["label"].replace("b", "beta")} for trial in renamed["trials"]]
    assert ask(tmp_path, plan_of("a", "b")) == ask(tmp_path, renamed | {"compared": ["a", "beta"]}) == []


def test_a_damaged_plan_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "compare.json").write_text('{"history": [')
    assert read_history(tmp_path / "compare.json") == []
    assert read_history(tmp_path / "missing.json") == []


def test_a_second_comparison_in_the_same_folder_is_labeled_everywhere(
    tiny: Path, minbert: Minbert, tmp_path: Path
) -> None:
    (tmp_path / "fast.toml").write_text('extends = "demo"\n\n[optimizer]\nlearning_rate = 1e-3\n', encoding="utf-8")
    out = tmp_path / "cmp"

    def compare(*words: object) -> str:
        recipes = ("demo", tmp_path / "fast.toml")
        common = ("--steps", 5, "--backbone", tiny, "--cosines", 0, "--jobs", 1, "--out", out)
        said = minbert("compare", *recipes, *common, *words)
        assert said.code == 0, said.err
        return said.out.replace("\n", " ")

    assert "Exploratory" not in compare("--seeds", 1)
    # the same request again is the same look
    assert "Exploratory" not in compare("--seeds", 1)
    assert len(read_history(out / "compare.json")) == 1
    # pages made again say the same
    assert minbert("report", out).code == 0
    assert "Exploratory" not in (out / "report.md").read_text(encoding="utf-8")
    reason = "Exploratory: some of these trials were compared with another baseline before (demo)"
    assert reason in compare("--seeds", 1, "--baseline", tmp_path / "fast.toml")
    assert conclude(out).caveats[0].startswith(reason)
    for page in ("report.html", "report.md"):
        assert "Exploratory: some of these trials" in (out / page).read_text(encoding="utf-8")
