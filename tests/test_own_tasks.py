"""docs/own-tasks.md as it stands: its files are written out, checked, shown, trained and asked."""

import json
import re
from pathlib import Path

import pytest

from tests.workbench import Minbert, write_csv

PAGE = (Path(__file__).parents[1] / "docs/own-tasks.md").read_text(encoding="utf-8")
REAL = Path(__file__).parents[2] / "shared/data"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that the page shows, by the name in their first line."""
    for name, text in re.findall(r"```toml\n# (\S+)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def small_data(root: Path) -> Path:
    """A few rows in the columns of all five tasks."""
    rows = {
        "ids-sst-{}.csv": ("id\tsentence\tsentiment", ["{i}\ta good film {i}\t{five}"]),
        "quora-{}.csv": ("id\tsentence1\tsentence2\tis_duplicate", ["{i}\twhat is {i} ?\tis it {i} ?\t{two}"]),
        "sts-{}.csv": ("id\tsentence1\tsentence2\tsimilarity", ["{i}\ta dog {i}\ta cat {i}\t{five}.0"]),
        "more/cola-{}.csv": ("id\tsentence\tacceptable", ["{i}\tthe men walk {i}\t{two}"]),
        "more/rte-{}.csv": ("id\tsentence1\tsentence2\tlabel", ["{i}\tit is {i}\tit was {i}\t{entails}"]),
    }
    for name, (header, (row,)) in rows.items():
        for part, first in (("train", 0), ("dev", 100)):
            made = [
                row.format(i=i, two=i % 2, five=i % 5, entails=("not_entailment", "entailment")[i % 2])
                for i in range(first, first + 20)
            ]
            write_csv(root / name.format(part), header, made)
    return root


@pytest.mark.parametrize("data", ["small", pytest.param("real", marks=pytest.mark.slow)])
def test_two_more_tasks_join_without_python(project: Path, tiny: Path, data: str, minbert: Minbert) -> None:
    def run(*words: str, code: int = 0) -> str:
        said = minbert(*words)
        assert said.code == code, said.err
        return said.out

    if data == "real" and not (REAL / "more/rte-train.csv").is_file():
        pytest.skip("the real files are not here")
    root = small_data(project / "data") if data == "small" else REAL
    recipe = str(project / "five.toml")
    # some dev rows of the published SST and STS splits are also training rows
    leaks = data == "real"
    checked = run("check", recipe, "--data-root", str(root), "--set", f"backbone={tiny}", code=int(leaks))
    assert ("dev rows are also training rows" in checked) == leaks
    shown = json.loads(run("show", recipe, "--json", "--shape", "base"))
    assert shown["tasks"]["rte"]["adapters"] == 2 * 96 * 768 + 12 * 3 * 96**2
    assert shown["tasks"]["cola"]["adapters"] == 0
    short = ["stages.0.epochs=1", "stages.0.steps_per_epoch=10", "selection.eval_rows=10", f"backbone={tiny}"]
    options = [word for setting in short for word in ("--set", setting)]
    out = str(project / "run")
    run("train", recipe, "--data-root", str(root), "--out", out, *options)
    answer = json.loads(run("predict", out, "rte", "All dogs bark.", "A dog barks.", "--json"))
    assert answer["label"] in ("not_entailment", "entailment")
    assert json.loads(run("predict", out, "cola", "The dog barks.", "--json"))["label"] in (
        "unacceptable",
        "acceptable",
    )
    assert set(json.loads(run("evaluate", out, "--json", *(("--data-root", str(root)))))["tasks"]) == {
        "sst", "quora", "sts", "cola", "rte"
    }  # fmt: skip
