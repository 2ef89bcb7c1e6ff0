"""Mistakes on the command line: the message says what is wrong, and the next step is the right one."""

import json
from pathlib import Path

import pytest

from tests.workbench import Minbert, demo_recipe, run_all, write_csv


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    run_all(demo_recipe(tiny), out)
    return out


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "reviews.csv", "review,stars", [f"A film of {i} words,{i % 2}" for i in range(40)])


def test_labels_are_the_same_on_the_screen_and_in_files(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "x.csv", "text,same", [f"A film of {i} words,{i % 2}.0" for i in range(60)])
    words = ("train", file, "--out", tmp_path / "run", "--set", f"backbone={tiny}", "--set", "epochs=1")
    assert minbert(*words).code == 0
    one = json.loads(minbert("predict", tmp_path / "run", "same", "A film", "--json").out)
    texts = write_csv(tmp_path / "texts.csv", "text", ["A film"])
    minbert("predict", tmp_path / "run", "same", "--input", texts, "--output", tmp_path / "out.jsonl")
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert one["label"] in ("0.0", "1.0") and set(one["probabilities"]) == {"0.0", "1.0"}
    assert one["label"] == row["prediction"]
    assert minbert("predict", tmp_path / "run", "same", "A film").out.split()[0] == one["label"]


def test_a_missing_file_is_not_a_table(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    said = minbert("embed", run, tmp_path / "nofile.csv", tmp_path / "out.npy")
    assert said.code == 2 and "nofile.csv: no such file." in said.err
    write_csv(tmp_path / "reviews.csv", "text", ["a"])
    assert f"Did you mean {tmp_path / 'reviews.csv'}?" in minbert("check", tmp_path / "review.csv").err


def test_a_directory_that_is_called_like_a_file(minbert: Minbert, tmp_path: Path) -> None:
    (tmp_path / "dir.tsv").mkdir()
    said = minbert("check", tmp_path / "dir.tsv")
    assert said.code == 2 and "dir.tsv: a directory, not a file." in said.err


def test_show_says_why_the_data_cannot_be_read(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", "text,stars", ["a film,7", "a book,3"])
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'backbone = "{tiny}"\n[tasks.x.task]\nkind = "score"\nrange = [1, 5]\ntext = ["text"]\nlabel = "stars"\n'
        'files = {train = "x.csv"}\n'
    )
    said = minbert("show", recipe)
    assert said.code == 0 and "x.csv:2: 'stars' is 7.0, outside the range 1 to 5" in " ".join(said.err.split())


def test_a_document_is_no_recipe(minbert: Minbert, tmp_path: Path) -> None:
    said = minbert("train", "reviews.docx", "--out", tmp_path / "run")
    assert said.code == 2 and "There is no recipe" not in said.err and ".csv" in said.err and ".xlsx" in said.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("--lr", "3"), "--set optimizer.learning_rate=3"),
        (("--learning-rate", "3"), "--set optimizer.learning_rate=3"),
        (("--epochs", "3"), "--set epochs=3"),
        (("--batch-size", "8"), "--set defaults.batch_size=8"),
        (("--epochs=3",), "--set epochs=..."),
    ],
)
def test_a_setting_given_as_an_option(words: tuple[str, ...], meant: str, minbert: Minbert, stars: Path) -> None:
    said = minbert("train", stars, "--out", "run", *words)
    assert said.code == 2 and meant in " ".join(said.err.replace("│", " ").split())


def test_a_setting_of_a_task_given_as_one_of_the_recipe(minbert: Minbert, stars: Path, tmp_path: Path) -> None:
    said = minbert("train", stars, "--out", tmp_path / "run", "--set", "dev_split=0.3")
    assert said.code == 2 and "--set tasks.stars.task.dev_split=..." in said.err


@pytest.mark.parametrize("name", ["other-test.csv", "other-dev.csv"])
def test_a_lone_test_file_among_others_is_not_learned_from(name: str, minbert: Minbert, stars: Path) -> None:
    other = write_csv(stars.parent / name, "review,topic", [f"A film of {i} words,{i % 2}" for i in range(40)])
    said = minbert("check", stars, other)
    assert said.code == 2 and f"{name}: which file is learned from?" in said.err
    assert minbert("check", other).code != 2


def test_predict_names_the_next_step(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    said = minbert("predict", run, "similarity", "one")
    assert said.code == 2 and f'predict {run} similarity "..." "..."' in said.err
    assert "This model has paraphrase, sentiment, similarity." in minbert("predict", run).err
    texts = write_csv(tmp_path / "texts.csv", "sentence", [])
    said = minbert("predict", run, "sentiment", "--input", texts, "--output", tmp_path / "out.csv")
    assert said.code == 2 and "without rows" in said.err and not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", ["x.parquet", "x.xlsx"])
def test_a_damaged_file_has_a_next_step(name: str, minbert: Minbert, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 no table")
    said = minbert("check", tmp_path / name)
    assert said.code == 2 and "copy or export it again" in said.err


def test_paths_of_bad_rows_have_no_detours(minbert: Minbert, tiny: Path, stars: Path) -> None:
    with stars.open("a", encoding="utf-8") as file:
        file.write("one,two,three,four\n")
    minbert("init", stars, "--out", stars.parent / "init")
    said = minbert("check", stars.parent / "init/recipe.toml", "--set", f"backbone={tiny}")
    assert said.code == 2 and ".." not in said.out and f"{stars}:42: 4 fields" in said.out
