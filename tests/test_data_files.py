"""`minbert train FILE...`, `minbert init FILE...` and tasks inside recipes, as a person uses them."""

import io
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from minbert.config.loading import read_recipe, recipe_from
from minbert.config.task import read_task
from minbert.errors import UserError
from minbert.runs.directory import read_run
from tests.workbench import Minbert, Said, write_csv

REVIEWS = [f"{'a great film' if i % 3 else 'an awful film'} number {i},{1 + i % 3}" for i in range(60)]
PAIRS = [f"a man number {i};a woman number {i % 7};{i % 11 / 2}" for i in range(60)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two data files, in which the commands are run."""
    write_csv(tmp_path / "reviews.csv", "review,stars", REVIEWS)
    write_csv(tmp_path / "sts.csv", "sentence1;sentence2;similarity", PAIRS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def short(backbone: Path) -> list[str]:
    words = [f"backbone={backbone}", "epoch_fraction=0.01"]
    return [word for setting in words for word in ("--set", setting)]


def refused(said: Said, *words: str) -> None:
    assert said.code == 2 and "Traceback" not in said.err
    for word in words:
        assert word in said.err.replace("\n", " ")


def toml_of(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


# ---- train --------------------------------------------------------------------------------------------


def test_files_are_trained_and_what_was_found_is_said_and_written(minbert: Minbert, files: Path, tiny: Path) -> None:
    said = minbert("train", "reviews.csv", "sts.csv", "--out", "runs/both", *short(tiny))
    assert said.code == 0, said.err
    for line in (
        "reviews.csv (train): 60 rows, comma-separated, UTF-8",
        "sts.csv (train): 60 rows, semicolon-separated, UTF-8",
        "text = review: by its name and its texts",
        "kind = classify: only 3 different whole numbers",
        "text = sentence1, sentence2: a pair by their names",
        "range = 0, 5: the values go from 0 to 5",
    ):
        assert line in said.out
    run = files / "runs/both"
    stars, similarity = (toml_of(run / f"tasks/{name}.toml") for name in ("stars", "similarity"))
    assert (stars["text"], stars["label"], stars["labels"]) == (["review"], "stars", [1, 2, 3])
    assert (similarity["kind"], similarity["range"]) == ("score", [0, 5])
    assert stars["files"] == {"train": str(files / "reviews.csv")}
    assert set(read_run(run)["recipe"]["tasks"]) == {"stars", "similarity"}
    # the run is read again like any other, from anywhere
    assert minbert("evaluate", run, "--json").code == 0
    assert list(read_recipe(str(run / "recipe.toml")).read_tasks()) == ["stars", "similarity"]
    again = minbert("train", run / "recipe.toml", "--out", "runs/again")
    assert again.code == 0 and read_run(files / "runs/again")["scores"] == read_run(run)["scores"]


def test_an_interrupted_run_of_files_is_resumed(minbert: Minbert, files: Path, tiny: Path) -> None:
    words = ("train", "reviews.csv", "--out", "run", *short(tiny))
    assert minbert(*words).code == 0
    refused(minbert(*words), "exists already")
    refused(minbert(*words, "--resume"), "this run is finished")


def test_options_choose_columns_kind_and_name(minbert: Minbert, files: Path, tiny: Path) -> None:
    rows = [f"{row},{'red' if i % 2 else 'blue'}" for i, row in enumerate(REVIEWS)]
    write_csv(files / "x.csv", "review,stars,colour", rows)
    said = minbert("train", "x.csv", "--label", "colour", "--task", "paint", "--out", "one", *short(tiny))
    assert said.code == 0 and toml_of(files / "one/tasks/paint.toml")["labels"] == ["blue", "red"]
    said = minbert("train", "x.csv", "--label", "stars", "--kind", "score", "--out", "two", *short(tiny))
    assert said.code == 0 and toml_of(files / "two/tasks/stars.toml")["kind"] == "score"
    said = minbert("check", "sts.csv", "--text", "sentence1", "--set", f"backbone={tiny}")
    assert said.code == 0 and "text = sentence1: named by --text" in said.out


def test_files_are_trained_with_the_settings_of_a_recipe(minbert: Minbert, files: Path, tiny: Path) -> None:
    said = minbert("train", "reviews.csv", "--recipe", "baseline", "--out", "run", *short(tiny))
    assert said.code == 0, said.err
    recipe = read_run(files / "run")["recipe"]
    assert list(recipe["tasks"]) == ["stars"] and recipe["optimizer"]["layer_decay"] == 0.9


def test_standard_input_is_kept_beside_the_run(
    minbert: Minbert, files: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipe(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    pipe((files / "reviews.csv").read_bytes())
    assert minbert("train", "-", "--out", "runs/piped", *short(tiny)).code == 0
    kept = files / "runs/piped-stdin.csv"
    assert kept.read_bytes() == (files / "reviews.csv").read_bytes()
    assert toml_of(files / "runs/piped/tasks/stars.toml")["files"]["train"] == str(kept)
    assert minbert("evaluate", "runs/piped").code == 0
    pipe("\n".join(json.dumps({"text": f"a film {i}", "label": i % 2}) for i in range(60)).encode())
    said = minbert("check", "-", "--set", f"backbone={tiny}")
    assert said.code == 0 and "standard input (train): 60 rows" in said.out and "minbert-stdin" not in said.out
    pipe(b"text,label\nSo, so.,good\nfine,good\nbad words,bad\nvery bad words,bad\n")
    said = minbert("check", "-", "--set", f"backbone={tiny}")
    assert said.code == 2 and "standard input:2: 3 fields where the header has 2" in said.out
    assert "minbert-stdin" not in said.out + said.err
    pipe(b"text,label\n")
    refused(minbert("check", "-"), "standard input: a header line and no rows")
    refused(minbert("check", "-", "-"), "can be read once")


def test_mistakes_with_files_and_recipes_are_named(minbert: Minbert, files: Path, tiny: Path) -> None:
    refused(minbert("train", "gone.csv", "--out", "x"), "gone.csv: no such file")
    refused(minbert("train", "reviews.csv", "baseline", "--out", "x"), "'baseline' is not a data file", "--recipe")
    refused(minbert("train", "baseline", "demo", "--out", "x"), "One recipe at a time", "minbert compare")
    refused(minbert("train", "baseline", "--label", "x", "--out", "x"), "Only data files have --label")
    refused(minbert("train", "reviews.csv", "--label", "starz", "--out", "x"), "Did you mean 'stars'?")
    (files / "notes.docx").write_text("x")
    refused(minbert("train", "notes.docx", "--out", "x"), "unknown kind of file", ".xlsx")
    (files / "task.toml").write_text('kind = "classify"\ntext = ["review"]\nlabel = "stars"\n')
    refused(minbert("train", "task.toml", "--out", "x"), "is a task file, not a recipe", "[tasks.task]")
    (files / "outer.toml").write_text('[tasks.x]\ntask = "inner.toml"\n')
    (files / "inner.toml").write_text('extends = "baseline"\n')
    refused(minbert("train", "outer.toml", "--out", "x"), "is a recipe, not a task file")
    refused(minbert("init", "outer.toml", "--out", "x"), "is not a data file")
    assert not (files / "x").exists()


def test_labels_are_predicted_as_they_are_written(minbert: Minbert, files: Path, tiny: Path) -> None:
    write_csv(
        files / "codes.csv", "review,code", [f"{row.split(',')[0]},0{1 + i % 3}" for i, row in enumerate(REVIEWS)]
    )
    assert minbert("train", "codes.csv", "--out", "run", *short(tiny)).code == 0
    said = minbert("predict", "run", "code", "a great film", "--json")
    assert list(json.loads(said.out)["probabilities"]) == ["01", "02", "03"]
    assert minbert("predict", "run", "code", "--input", "codes.csv", "--output", "out.csv").code == 0
    header, row = (files / "out.csv").read_text().splitlines()[:2]
    assert "p_01,p_02,p_03" in header and any(f",{code}," in row for code in ("01", "02", "03"))
    assert minbert("evaluate", "run", "--data", "code=codes.csv").code == 0


def test_words_that_mean_missing_are_kept_if_asked(minbert: Minbert, files: Path, tiny: Path) -> None:
    rows = [f"a film number {i},{('good', 'bad', 'N/A')[i % 3]}" for i in range(60)]
    write_csv(files / "x.csv", "review,mood", rows)
    said = minbert("train", "x.csv", "--out", "one", *short(tiny))
    assert said.code == 0 and "na_values = N/A: 20 rows, read as missing" in said.out and "--keep-na" in said.out
    assert "20 skipped ('mood' is N/A)" in said.err.replace("\n", " ")
    assert toml_of(files / "one/tasks/mood.toml")["labels"] == ["bad", "good"]
    said = minbert("train", "x.csv", "--keep-na", "--out", "two", *short(tiny))
    assert said.code == 0 and toml_of(files / "two/tasks/mood.toml")["labels"] == ["N/A", "bad", "good"]


def test_rows_that_a_sibling_task_holds_out_are_said(minbert: Minbert, files: Path, tiny: Path) -> None:
    rows = [f"a film number {i},{i % 2},{i * 7 % 5}" for i in range(200)]
    write_csv(files / "x.csv", "review,liked,stars", rows)
    said = minbert("check", "x.csv", "--label", "liked", "--label", "stars", "--set", f"backbone={tiny}")
    assert "train rows are skipped: a dev row of another task" in said.out
    said = minbert("train", "x.csv", "--label", "liked", "--label", "stars", "--out", "run", *short(tiny))
    assert "skipped (a dev row of another task)" in said.err.replace("\n", " ")


def test_unquoted_commas_are_one_line_and_a_hint(minbert: Minbert, files: Path, tiny: Path) -> None:
    rows = [f"a film{', and a sequel' if i % 2 else ''} number {i},{i % 3 % 2}" for i in range(100)]
    write_csv(files / "x.csv", "review,stars", rows)
    said = minbert("check", "x.csv", "--set", f"backbone={tiny}")
    lines = [line for line in said.out.splitlines() if "fields where the header has 2" in line]
    assert said.code == 2 and len(lines) == 1 and lines[0].startswith("x.csv:3, 5, 7, 9")
    assert "need quotes around them" in said.err.replace("\n", " ")


# ---- init ---------------------------------------------------------------------------------------------


def test_init_writes_files_that_check_and_train_read(
    minbert: Minbert, files: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = minbert("init", "reviews.csv", "sts.csv", "--out", "mine")
    assert said.code == 0 and "minbert train mine/recipe.toml --out runs/mine" in said.out
    text = (files / "mine/tasks/stars.toml").read_text()
    assert '# by its name and its texts\ntext = ["review"]' in text
    assert toml_of(files / "mine/tasks/stars.toml")["files"] == {"train": "../../reviews.csv"}
    assert list(toml_of(files / "mine/recipe.toml")) == ["tasks"]
    # the paths are relative to the files that name them
    (files / "elsewhere").mkdir()
    monkeypatch.chdir(files / "elsewhere")
    recipe = files / "mine/recipe.toml"
    assert minbert("check", recipe, "--set", f"backbone={tiny}").code == 0
    assert minbert("train", recipe, "--out", files / "run", *short(tiny)).code == 0
    by_files = read_recipe(str(recipe)).read_tasks()
    assert by_files["stars"].labels == (1, 2, 3) and by_files["similarity"].range == (0.0, 5.0)


def test_init_replaces_nothing_unless_it_is_told_to(minbert: Minbert, files: Path) -> None:
    assert minbert("init", "reviews.csv", "--out", "mine").code == 0
    (files / "mine/tasks/stars.toml").write_text("mine")
    refused(minbert("init", "reviews.csv", "--out", "mine"), "exists already", "--force")
    (files / "mine/recipe.toml").unlink()
    refused(minbert("init", "reviews.csv", "--out", "mine"), "stars.toml: exists already")
    assert (files / "mine/tasks/stars.toml").read_text() == "mine" and not (files / "mine/recipe.toml").exists()
    assert minbert("init", "reviews.csv", "--out", "mine", "--force").code == 0
    assert read_recipe("mine/recipe.toml").read_tasks()["stars"].label == "stars"


# ---- tasks inside recipes -----------------------------------------------------------------------------

INLINE = """
[tasks.stars.task]
kind = "classify"
text = ["review"]
label = "stars"
[tasks.stars.task.files]
train = "data/reviews.csv"
dev = "gone.csv"
"""


def test_paths_of_a_task_in_a_recipe_are_relative_to_the_recipe(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "base/data/reviews.csv", "review,stars", REVIEWS)
    (tmp_path / "base/base.toml").write_text(INLINE)
    (tmp_path / "above.toml").write_text('extends = "base/base.toml"\n[tasks.stars.task]\nmax_length = 64\n')
    task = read_recipe(str(tmp_path / "above.toml"), ["tasks.stars.task.metric=macro_f1"]).read_tasks()["stars"]
    assert (task.files.train, task.max_length, task.metric) == (str(data), 64, "macro_f1")
    # what is not there is looked for below the data root
    assert task.files.dev == "gone.csv"


def test_a_run_of_a_task_in_a_recipe_is_written_as_a_task_file(minbert: Minbert, files: Path, tiny: Path) -> None:
    write_csv(files / "deep/data/reviews.csv", "review,stars", REVIEWS)
    (files / "deep/recipe.toml").write_text(INLINE.replace('dev = "gone.csv"\n', ""))
    said = minbert("train", "deep/recipe.toml", "--out", "run", *short(tiny))
    assert said.code == 0, said.err
    assert toml_of(files / "run/recipe.toml")["tasks"]["stars"]["task"] == "tasks/stars.toml"
    task = read_task("stars", str(files / "run/tasks/stars.toml"))
    assert task.labels == ("1", "2", "3") and task.files.train == str(files / "deep/data/reviews.csv")
    assert minbert("evaluate", "run").code == 0
    assert minbert("show", "deep/recipe.toml", *short(tiny)).code == 0


def test_a_standard_task_can_be_changed_in_a_recipe() -> None:
    table = {"tasks": {"short": {"task": {"name": "sst", "max_length": 32}}}}
    task = recipe_from(table, "here").read_tasks()["short"]
    assert (task.label, task.max_length, task.name) == ("sentiment", 32, "short")


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ({"task": {"kind": "classify", "text": ["a"]}}, "here: task 'x' needs the setting 'label'"),
        ({"task": {"kind": "classify", "text": ["a"], "label": "b", "lable": 1}}, "unknown setting 'lable'"),
        ({"kind": "classify", "text": ["a"], "label": "b"}, "what it learns is a table of its own"),
        ({"task": 7}, "setting 'task' of task 'x' should be a string or a table"),
    ],
)
def test_wrong_tasks_in_recipes_are_named(plan: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe_from({"tasks": {"x": plan}}, "here").read_tasks()
    assert problem in caught.value.problem
