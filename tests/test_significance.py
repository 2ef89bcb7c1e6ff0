"""The command `significance`: files of predictions as tools write them."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import minbert as package
from tests.workbench import Minbert

ROWS = 300
RNG = np.random.default_rng(0)
GOLD = RNG.choice(["neg", "pos"], ROWS)


def right(share: float) -> Any:
    return np.where(RNG.random(ROWS) < share, GOLD, np.where(GOLD == "neg", "pos", "neg"))


LABELS = {"a0": right(0.7), "a1": right(0.7), "b0": right(0.9), "b1": right(0.9)}


def write_table(path: Path, **columns: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    ids = [f"row {i}" for i in range(ROWS)]
    write_table(folder / "gold.csv", id=ids, text=["a film"] * ROWS, label=GOLD)
    for name, labels in LABELS.items():
        sure = np.where(labels == "pos", 0.9, 0.1)
        write_table(folder / f"{name}.csv", id=ids, text=ids, label=GOLD, prediction=labels, probability=sure,
                    p_neg=1 - sure, p_pos=sure, truncated=["false"] * ROWS)  # fmt: skip
    return folder


def systems(folder: Path, *b: str) -> tuple[Any, ...]:
    base = ("--gold", folder / "gold.csv", "--system", f"base={folder / 'a0.csv'},{folder / 'a1.csv'}")
    return "significance", *base, "--system", f"new={','.join(str(folder / name) for name in b)}"


def test_the_command_says_what_the_function_says(files: Path, minbert: Minbert) -> None:
    said = minbert(*systems(files, "b0.csv", "b1.csv"), "--json")
    assert said.code == 0, said.err
    given = {"base": [LABELS["a0"], LABELS["a1"]], "new": [LABELS["b0"], LABELS["b1"]]}
    (new,) = json.loads(said.out)["systems"]
    expected = package.compare_predictions(GOLD, given)["new"]
    assert new == {name: getattr(expected, name) for name in new} and new["verdict"] == "better"


def test_all_kinds_of_files_give_the_same(files: Path, minbert: Minbert, tmp_path: Path) -> None:
    first = minbert(*systems(files, "b0.csv", "b1.csv"), "--json").out
    backwards = np.arange(ROWS)[::-1]
    b0, b1 = LABELS["b0"], LABELS["b1"]
    # in another order, with ids; without ids, in the same order
    lines = [json.dumps({"id": f"row {i}", "pred": b0[i]}) for i in backwards]
    (tmp_path / "b0.jsonl").write_text("\n".join(lines), encoding="utf-8")
    write_table(tmp_path / "b1.tsv", answer=b1)
    pyarrow.parquet.write_table(pyarrow.table({"prediction": list(b0)}), tmp_path / "b0.parquet")
    (tmp_path / "b1.json").write_text(json.dumps([{"prediction": each} for each in b1]), encoding="utf-8")
    sure = (b1 == "pos").astype(float)
    write_table(tmp_path / "b1.csv", pos=sure, neg=1 - sure)
    (tmp_path / "course.csv").write_text(
        "id \t Predicted_Sentiment \n" + "".join(f"row {i} , {b0[i]} \n" for i in backwards), encoding="utf-8"
    )
    for zero, one in [("b0.jsonl", "b1.tsv"), ("b0.parquet", "b1.json"), ("course.csv", "b1.csv")]:
        said = minbert(*systems(files, str(tmp_path / zero), str(tmp_path / one)), "--json")
        assert said.code == 0, said.err
        assert said.out == first


def test_labels_that_are_numbers_are_the_same_in_all_spellings(minbert: Minbert, tmp_path: Path) -> None:
    gold = [0, 1, 1, 0, 2, 1] * 20
    write_table(tmp_path / "gold.csv", label=gold)
    write_table(tmp_path / "a.csv", prediction=[f"{each}.0" for each in gold])
    (tmp_path / "b.json").write_text(json.dumps([{"prediction": each} for each in gold]), encoding="utf-8")
    words = ("--system", f"a={tmp_path / 'a.csv'}", "--system", f"b={tmp_path / 'b.json'}")
    said = minbert("significance", "--gold", tmp_path / "gold.csv", *words, "--json")
    assert json.loads(said.out)["scores"] == {"a": [1.0], "b": [1.0]}, said.err


def test_scores_need_no_metric(minbert: Minbert, tmp_path: Path) -> None:
    gold = RNG.normal(size=200)
    write_table(tmp_path / "gold.csv", similarity=gold)
    for name, noise in (("a", 1.0), ("b", 0.3)):
        write_table(tmp_path / f"{name}.csv", prediction=gold + noise * RNG.normal(size=200))
    words = ("--system", f"a={tmp_path / 'a.csv'}", "--system", f"b={tmp_path / 'b.csv'}")
    said = minbert("significance", "--gold", tmp_path / "gold.csv", *words)
    assert said.code == 0, said.err
    assert "Pearson's r" in said.out and "better" in said.out and "only one seed" in said.out


def test_the_page_has_the_plot_and_every_number(files: Path, minbert: Minbert, tmp_path: Path) -> None:
    said = minbert(*systems(files, "b0.csv", "b1.csv"), "--metric", "log_loss", "--out", tmp_path / "page")
    assert said.code == 0 and "report.html" in said.out, said.err
    html, markdown = ((tmp_path / "page" / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    assert "<svg" in html and "difference in log loss" in html
    for words in ("new is ahead of base", "Minimum detectable effect", "b1.csv", "300 rows of gold.csv"):
        assert words in markdown
    with (tmp_path / "page" / "results.csv").open(encoding="utf-8") as file:
        assert {row["recipe"]: row["difference_result"] for row in csv.DictReader(file)} == {
            "new": "better",
            "base": "",
        }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"prediction": ["pos"] * 299}, "299 predictions, but"),
        ({"id": ["row 1", *(f"other {i}" for i in range(299))], "prediction": ["pos"] * ROWS}, "its id 'other 0' is"),
        ({"id": ["row 1", *(f"row {i}" for i in range(1, 300))], "prediction": ["pos"] * ROWS}, "some occur twice"),
        ({"prediction": ["positive"] * ROWS}, "no value of its column 'prediction' is a gold label"),
        ({"prediction": ["pos", "", *["neg"] * 298]}, "x.csv:3: no value of 'prediction'"),
        ({"pos": ["pos"] * ROWS}, "the first line, 'pos', looks like a row"),
        ({"one.prediction": ["pos"] * ROWS, "two.prediction": ["pos"] * ROWS}, "several columns of predictions"),
        ({"id": [f"row {i}" for i in range(ROWS)]}, "no column of predictions"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    content: dict[str, Any], said: str, files: Path, minbert: Minbert, tmp_path: Path
) -> None:
    write_table(tmp_path / "x.csv", **content)
    found = minbert(*systems(files, str(tmp_path / "x.csv")), "--out", tmp_path / "page")
    assert found.code == 2 and said in found.err.replace("\n", " "), found.err
    assert not (tmp_path / "page").exists()


def test_wrong_options(files: Path, minbert: Minbert) -> None:
    gold = ("significance", "--gold", files / "gold.csv")
    new = ("--system", f"new={files / 'b0.csv'}")
    for words, said in [
        ((*gold, *new), "Two systems or more"),
        ((*gold, *new, "--system", "base"), "not in the form NAME=FILE"),
        ((*gold, *new, "--system", "base=none.csv"), "no such file"),
        ((*gold, *new, *new, "--system", f"base={files / 'a0.csv'}"), "is given twice"),
        ((*systems(files, "b0.csv"), "--metric", "acc"), "no metric 'acc'"),
        ((*systems(files, "b0.csv"), "--baseline", "old"), "'old' is not one of the systems"),
        ((*systems(files, "b0.csv"), "--column", "guess"), "no column 'guess'"),
        ((*systems(files, "b0.csv"), "--gold-column", "gold"), "no column 'gold'"),
        ((*systems(files, "b0.csv"), "--metric", "mae"), "is not a number"),
    ]:
        found = minbert(*words)
        assert found.code == 2 and said in found.err, found.err
