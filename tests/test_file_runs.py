"""Runs that were trained on data files: what `evaluate`, `predict` and `resume` say about them and other files."""

import csv
import io
import json
import shutil
import tomllib
from pathlib import Path

import pytest

from minbert.cli import main
from tests.workbench import Minbert, write_csv

SHORT = ("--set", "epoch_fraction=0.02")


def mail_rows(rows: int = 60) -> list[str]:
    """A text with two labels of its own and a score."""
    return [
        f"this film number {i} was {'good' if i % 2 else 'bad'},{'ham' if i % 2 else 'spam'},{i % 3}"
        for i in range(rows)
    ]


@pytest.fixture(scope="module")
def mails(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with mails.csv, pairs.csv, and a run trained on both."""
    folder = tmp_path_factory.mktemp("mails")
    write_csv(folder / "mails.csv", "text,spam,stars", mail_rows())
    pairs = [f"dog number {i},cat number {i * 7 % 60},{'yes' if i % 2 else 'no'}" for i in range(60)]
    write_csv(folder / "pairs.csv", "question,answer,fits", pairs)
    words = ["train", "mails.csv", "pairs.csv", "--out", "run", "--set", f"backbone={tiny}", *SHORT]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", ["minbert", *words])
        with pytest.raises(SystemExit, match="0"):
            main()
    return folder


@pytest.fixture(autouse=True)
def there(mails: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mails)


# ---- evaluate -----------------------------------------------------------------------------------------


def test_evaluate_says_how_many_rows_the_model_was_trained_on(minbert: Minbert, tmp_path: Path) -> None:
    said = minbert("evaluate", "run", "--data", "fits=pairs.csv")
    assert said.code == 0
    assert "fits: the model was trained on 54 of these 60 rows, so its score is too good." in said.out
    assert "minbert evaluate run" in said.out and "trained on" not in minbert("evaluate", "run").out
    # other rows of another file, and a copy of three rows in another spelling
    write_csv(tmp_path / "new.csv", "question,answer,fits", [f"new {i},old {i},yes" for i in range(9)])
    assert "trained on" not in minbert("evaluate", "run", "--data", f"fits={tmp_path / 'new.csv'}").out
    found = json.loads(minbert("evaluate", "run", "--data", "fits=pairs.csv", "--json").out)
    assert found["trained_rows"] == {"fits": 54}


def test_a_training_file_that_was_moved_is_known_by_its_content(minbert: Minbert, tmp_path: Path) -> None:
    shutil.copytree(".", tmp_path / "there")
    folder = tmp_path / "there"
    for task in (folder / "run/tasks").iterdir():
        task.write_text(task.read_text().replace(str(Path.cwd()), str(tmp_path / "gone")))
    said = minbert("evaluate", folder / "run", "--data", f"fits={folder / 'pairs.csv'}")
    assert said.code == 0 and "trained on 54 of these 60 rows" in said.out


def test_metrics_name_the_class_they_refer_to(minbert: Minbert) -> None:
    shown = minbert("evaluate", "run").out
    # spam: ham, spam; stars: 0, 1, 2
    for name in ("f1 (spam)", "precision (spam)", "recall (spam)", "precision (macro)", "recall (macro)"):
        assert name in shown
    assert "f1 (macro)" not in shown and shown.count("macro_f1") == 3


# ---- files that were moved ----------------------------------------------------------------------------


def test_the_files_of_a_run_may_be_moved(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "h.csv", "text,spam", [f"film {i},{i % 2}" for i in range(60)])
    run, moved = tmp_path / "run", tmp_path / "moved/h.csv"
    assert minbert("train", data, "--out", run, "--set", f"backbone={tiny}", *SHORT).code == 0
    score = json.loads(minbert("evaluate", run, "--json").out)["tasks"]
    moved.parent.mkdir()
    data.rename(moved)
    said = minbert("evaluate", run)
    assert said.code == 2 and said.err.count(str(data)) == 1
    assert "Name the folder that holds h.csv, with --data-root FOLDER" in said.err
    assert json.loads(minbert("evaluate", run, "--data-root", moved.parent, "--json").out)["tasks"] == score
    # an interrupted run: all that its resume does before the first step
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | {"state": "interrupted"}))
    assert minbert("resume", run).code == 2
    said = minbert("resume", run, "--data-root", moved.parent)
    assert said.code == 0 and "The model is in" in said.out


def test_a_name_for_several_tasks_is_refused_with_a_way_on(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [f"film {i},{i % 2}" for i in range(40)]
    files = [write_csv(tmp_path / f"{name}.csv", "text,label", rows) for name in ("first", "second")]
    said = minbert("train", *files, "--task", "foo", "--out", tmp_path / "run")
    assert said.code == 2 and "2 were found: first, second." in said.err and "Leave out --task" in said.err
    said = minbert("train", "mails.csv", "--task", "foo", "--out", tmp_path / "run")
    assert said.code == 2 and "2 were found: spam, stars." in said.err and "--label spam" in said.err
    words = ("--label", "spam", "--task", "foo", "--out", tmp_path / "run", "--set", f"backbone={tiny}", *SHORT)
    assert minbert("train", "mails.csv", *words).code == 0


# ---- emoji --------------------------------------------------------------------------------------------


def test_colons_are_not_read_as_emoji(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    data = write_csv(
        tmp_path / "a:100:b.csv", "text,mood", [f"film {i},{':fire:' if i % 2 else 'no'}" for i in range(40)]
    )
    said = minbert("check", data, "--set", f"backbone={tiny}")
    assert said.code == 0 and "a:100:b.csv" in said.out and ":fire: 50.0%" in said.out
    assert minbert("train", data, "--out", tmp_path / "run", "--set", f"backbone={tiny}", *SHORT).code == 0
    assert ":fire:" in minbert("predict", tmp_path / "run", "mood", "a film").out
    write_csv(data, "text,mood", [*(f"film {i},{i % 2}" for i in range(98)), "film,1,2"])
    said = minbert("train", data, "--out", tmp_path / "run2", "--set", f"backbone={tiny}")
    assert said.code == 2 and "a:100:b.csv:100:" in said.err
    assert "a:100:b.csv:100:" in minbert("check", data, "--set", f"backbone={tiny}").out


# ---- predict ------------------------------------------------------------------------------------------


def predictions(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_tasks_that_can_read_a_file_predict_it(minbert: Minbert, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    said = minbert("predict", "run", "all", "--input", "mails.csv", "--output", out)
    assert said.code == 0 and "Left out, because the file lacks their columns: fits (question and answer)." in said.err
    assert {"spam.prediction", "stars.prediction"} < set(predictions(out)[0])
    assert minbert("predict", "run", "all", "--input", "pairs.csv", "--output", out, "--force").code == 0
    assert "prediction" in predictions(out)[0]
    other = write_csv(tmp_path / "other.csv", "body,n", ["a film,1"])
    said = minbert("predict", "run", "all", "--input", other, "--output", out, "--force")
    assert said.code == 2 and "no task of this model finds its text columns: spam (text), stars (text)" in said.err
    assert "The file has the columns body, n." in said.err and "--text COLUMN" in said.err
    assert minbert("predict", "run", "all", "--text", "body", "--input", other, "--output", out, "--force").code == 0


def test_columns_with_other_names(minbert: Minbert, tmp_path: Path) -> None:
    rows = [row.rsplit(",", 2)[0] for row in mail_rows(9)]
    other, out = write_csv(tmp_path / "other.csv", "body", rows), tmp_path / "out.csv"
    said = minbert("predict", "run", "spam", "--input", other, "--output", out)
    assert said.code == 2 and "no column 'text'" in said.err and said.err.count("body") == 1
    assert "--text COLUMN" in said.err
    assert minbert("predict", "run", "spam", "--text", "body", "--input", other, "--output", out).code == 0
    own = write_csv(tmp_path / "own.csv", "text", rows)
    assert minbert("predict", "run", "spam", "--input", own, "--output", tmp_path / "own-out.csv").code == 0
    found, same = predictions(out), predictions(tmp_path / "own-out.csv")
    assert [row["body"] for row in found] == [row["text"] for row in same] == rows
    assert [row["p_spam"] for row in found] == [row["p_spam"] for row in same]
    pairs = write_csv(tmp_path / "pairs.csv", "a,b", ["a dog,a cat"])
    words = ("--input", pairs, "--output", out, "--force")
    assert minbert("predict", "run", "fits", "--text", "a,b", *words).code == 0
    said = minbert("predict", "run", "fits", "--text", "a", *words)
    assert said.code == 2 and "Task 'fits' reads 2 texts, and --text names 1 column." in said.err
    said = minbert("predict", "run", "spam", "a film", "--text", "a")
    assert said.code == 2 and "--text names a column of --input." in said.err


def test_standard_input_is_predicted(minbert: Minbert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(Path("mails.csv").read_bytes()))
    monkeypatch.setattr("sys.stdin", piped)
    assert minbert("predict", "run", "spam", "--input", "-", "--output", tmp_path / "out.csv").code == 0
    assert len(predictions(tmp_path / "out.csv")) == 60


@pytest.mark.parametrize("name", ["p.foo", "p.json", "p.xlsx", "p"])
def test_only_endings_that_are_written_are_named(name: str, minbert: Minbert, tmp_path: Path) -> None:
    said = minbert("predict", "run", "spam", "--input", "mails.csv", "--output", tmp_path / name)
    assert said.code == 2
    assert "Use a name that ends in .csv, .tsv, .jsonl, .parquet, or one of these with .gz." in said.err


def test_a_run_that_was_not_finished_says_so(minbert: Minbert, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree("run", run)
    about = json.loads((run / "run.json").read_text())
    kept = {name: value for name, value in about.items() if name not in ("outcomes", "scores", "overall")}
    (run / "run.json").write_text(json.dumps(kept | {"state": "running"}))
    said = minbert("predict", run, "spam", "a film")
    assert said.code == 0 and f"warning: {run} was not finished: this is its best model so far." in said.err
    assert f"minbert resume {run}" in said.err
    said = minbert("evaluate", run)
    assert said.code == 0 and "The constant answer and the untrained backbone are not known yet." in said.err
    assert "not finished" not in minbert("predict", "run", "spam", "a film").err


# ---- train and check ----------------------------------------------------------------------------------


def test_metric_and_length_of_data_files(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    words = ("--set", f"backbone={tiny}", *SHORT, "--metric", "macro_f1", "--max-length", 64)
    said = minbert("train", "mails.csv", "--label", "spam", "--out", tmp_path / "run", *words)
    assert said.code == 0 and "metric = macro_f1: named by --metric" in said.out
    assert "max_length = 64: named by --max-length" in said.out and "at most 64 tokens" in said.err
    task = tomllib.loads((tmp_path / "run/tasks/spam.toml").read_text())
    assert (task["metric"], task["max_length"]) == ("macro_f1", 64)
    said = minbert("train", "mails.csv", "--out", tmp_path / "run2", "--metric", "bleu")
    assert said.code == 2 and "no task has this metric" in said.err and "macro_f1" in said.err
    said = minbert("train", "demo", "--out", tmp_path / "run2", "--max-length", 64)
    assert said.code == 2 and "Only data files have --max-length" in said.err


def test_a_metric_that_only_some_tasks_have(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "x.csv", "text,label,score", [f"film {i},{i % 2},{i / 7:.2f}" for i in range(40)])
    words = ("--set", f"backbone={tiny}", *SHORT, "--metric", "spearman")
    assert minbert("train", data, "--out", tmp_path / "run", *words).code == 0
    tasks = {name: tomllib.loads((tmp_path / f"run/tasks/{name}.toml").read_text()) for name in ("label", "score")}
    assert {name: task["metric"] for name, task in tasks.items()} == {"label": "accuracy", "score": "spearman"}


def test_the_end_of_a_training_suggests_all_tasks(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    said = minbert("train", "mails.csv", "--out", "both", "--set", f"backbone={tiny}", *SHORT)
    assert said.code == 0
    assert 'minbert predict both spam "..."' in said.out and 'minbert predict both all "..."' in said.out
    assert minbert("predict", "both", "all", "...").code == 0
    said = minbert("train", "pairs.csv", "--out", tmp_path / "run", "--set", f"backbone={tiny}", *SHORT)
    assert said.code == 0 and " all " not in said.out


def test_check_lists_the_rows_that_are_skipped(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "bad.csv", "text,spam", [*(f"film {i},{i % 2}" for i in range(40)), "film,1,2"])
    words = ("check", data, "--set", f"backbone={tiny}")
    said = minbert(*words)
    assert said.code == 2 and "1 row cannot be read" in said.out and "minbert check" not in said.out
    assert "bad.csv:42: 3 fields where the header has 2" in said.out and "1 bad row." in said.err
    said = minbert(*words, "--skip-bad-rows")
    assert said.code == 0 and "spam: 1 row skipped" in said.out
    assert said.out.count("bad.csv:42: 3 fields where the header has 2") == 1


def test_bad_rows_of_another_file_do_not_lead_to_check(minbert: Minbert, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "bad.csv", "text,spam", [f"film {i},perhaps{i}" for i in range(40)])
    said = minbert("evaluate", "run", "--data", f"spam={data}")
    assert said.code == 2 and "... and 25 more reasons." in said.err and "minbert check" not in said.err


def test_labels_are_shown_as_they_are_predicted(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "x.jsonl"
    data.write_text("".join(json.dumps({"text": f"film {i}", "spam": bool(i % 2)}) + "\n" for i in range(40)))
    said = minbert("check", data, "--set", f"backbone={tiny}")
    assert said.code == 0 and "labels = false, true" in said.out and "True" not in said.out


def test_a_gzip_ending_on_a_plain_file(minbert: Minbert, tmp_path: Path) -> None:
    data = write_csv(tmp_path / "x.csv.gz", "text,spam", ["film,1"])
    said = minbert("check", data)
    assert said.code == 2 and "not a whole gzip file: damaged, or not gzipped." in said.err and "(b'" not in said.err
    assert "remove .gz from its name" in said.err


def test_check_in_eighty_columns(minbert: Minbert, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = ["very good", "quite good", "neither good nor bad", "quite bad", "very bad"]
    rows = [f"film {i},{names[i % 5]}" for i in range(100)]
    data = write_csv(tmp_path / "x.csv", "text,a_long_name_of_a_label_column", rows)
    lines = minbert(
        "check", data, "--label", "a_long_name_of_a_label_column", "--set", f"backbone={tiny}"
    ).out.splitlines()
    # a table that does not fit has its title above the paragraphs
    assert "tokens of" in lines
    shares = [line for line in lines if "20.0%" in line]
    assert len(shares) > 2 and all(len(line) <= 80 for line in shares)
    assert all(f"{name} 20.0%" in "\n".join(shares) for name in names)


def test_columns_to_choose_from_fit_eighty_columns(minbert: Minbert, tmp_path: Path) -> None:
    rows = [f"a rather long sentence about number {i} of them,x{i % 4},y{i % 3}" for i in range(60)]
    data = write_csv(tmp_path / "x.csv", "words_of_the_customers,a_first_column,a_second_column", rows)
    said = minbert("check", data)
    listed = [line for line in said.err.splitlines() if "different values" in line]
    assert said.code == 2 and len(listed) == 3 and all(len(line) <= 80 for line in listed)
