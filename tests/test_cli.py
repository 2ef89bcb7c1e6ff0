"""The command line as a person meets it: answers, files, and mistakes that fit on one screen."""

import csv
import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer

from minbert.cli import COMMANDS, app, help_text
from minbert.cli.console import command_line, shell_path
from tests.workbench import DEMO, Minbert, Said, demo_recipe, run_all, write_csv


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_all(demo_recipe(tiny), folder)
    return folder


def assert_mistake(said: Said, *words: str) -> None:
    """Exit code 2, all on one screen, no traceback, and it names what it should."""
    assert said.code == 2
    assert "Traceback" not in said.err + said.out
    assert len(said.err.strip().splitlines()) <= 20
    for word in words:
        assert word in said.err.replace("\n", " "), f"{word!r} is not in {said.err!r}"


# ---- mistakes -----------------------------------------------------------------------------------------


def own_task(folder: Path, rows: list[str], header: str = "review,liked", **settings: str) -> Path:
    """A recipe with one task of the user's own."""
    write_csv(folder / "films.csv", header, rows)
    table = {"kind": '"classify"', "text": '["review"]', "label": '"liked"', "labels": '["no", "yes"]'} | settings
    lines = [f"{key} = {value}" for key, value in table.items()]
    (folder / "films.toml").write_text("\n".join([*lines, "[files]", 'train = "films.csv"']) + "\n")
    path = folder / "recipe.toml"
    path.write_text('[tasks.films]\ntask = "films.toml"\n')
    return path


@pytest.mark.parametrize("command", ["train", "check"])
def test_wrong_column_name(command: str, minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    recipe = own_task(tmp_path, ["good,yes"], header="revieww,liked")
    out = ("--out", tmp_path / "run") if command == "train" else ()
    said = minbert(command, recipe, *out, "--set", f"backbone={tiny}")
    assert_mistake(said, "films.csv", "no column 'review'", "Did you mean 'revieww'?")


def test_empty_file(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    recipe = own_task(tmp_path, [])
    (tmp_path / "films.csv").write_text("")
    assert_mistake(
        minbert("train", recipe, "--out", tmp_path / "run", "--set", f"backbone={tiny}"), "films.csv", "empty"
    )


def test_label_out_of_range_names_every_line_and_can_be_skipped(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [f"film {i},{'yes' if i % 2 else 'no'}" for i in range(60)]
    rows[3], rows[40] = "film 3,maybe", ",yes"
    recipe = own_task(tmp_path, rows, dev_split="0.3")
    words = ("train", recipe, "--out", tmp_path / "run", "--set", f"backbone={tiny}")
    assert_mistake(
        minbert(*words), "films.csv:5: 'liked' is 'maybe'", "films.csv:42: 'review' is empty", "--skip-bad-rows"
    )
    assert not (tmp_path / "run").exists()
    said = minbert(*words, "--skip-bad-rows")
    assert said.code == 0
    assert "2 skipped" in said.err


def test_unknown_setting(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    said = minbert(
        "train", "demo", "--out", tmp_path / "r", "--set", f"backbone={tiny}", "--set", "tasks.sentiment.head.dropuot=1"
    )
    assert_mistake(said, "unknown setting 'dropuot' of head 'linear'. Did you mean 'dropout'?")
    said = minbert("train", "demo", "--out", tmp_path / "r", "--set", "optimzer.learning_rate=1")
    assert_mistake(said, "unknown setting 'optimzer'", "Did you mean 'optimizer'?")


def test_missing_file_says_how_to_name_the_data(
    minbert: Minbert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MINBERT_DATA", raising=False)
    assert_mistake(
        minbert("train", "baseline", "--out", tmp_path / "run"), "ids-sst-train.csv", "--data-root", "MINBERT_DATA"
    )
    assert_mistake(minbert("check", "nowhere/recipe.toml"), "no recipe 'nowhere/recipe.toml'")


def test_a_backbone_that_is_no_bert(minbert: Minbert, tmp_path: Path) -> None:
    folder = tmp_path / "roberta"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "roberta"}')
    said = minbert("train", "demo", "--out", tmp_path / "run", "--set", f"backbone={folder}")
    assert_mistake(said, "a 'roberta' model, not a BERT")


def test_a_run_directory_that_exists(minbert: Minbert, run: Path, tiny: Path) -> None:
    said = minbert("train", "demo", "--out", run, "--set", f"backbone={tiny}")
    assert_mistake(said, "exists already", "--force")


def test_other_mistakes_of_each_command(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    assert_mistake(minbert("predict", run, "sentimnt", "x"), "no task 'sentimnt'", "Did you mean 'sentiment'?")
    assert_mistake(minbert("predict", run, "paraphrase", "only one"), "reads 2 texts, not 1")
    assert_mistake(minbert("predict", run, "sentiment", "a", "b"), "reads 1 text, not 2")
    assert_mistake(minbert("predict", run, "sentiment"), "--input and --output")
    assert_mistake(minbert("predict", tmp_path / "none", "sentiment", "x"), "no such run")
    assert_mistake(minbert("predict", tmp_path, "sentiment", "x"), "holds no trained model")
    assert_mistake(minbert("evaluate", run, "--data", "sentiment"), "TASK=FILE")
    assert_mistake(minbert("evaluate", run, "--data", f"sentiment={tmp_path / 'no.csv'}"), "no.csv", "no such file")
    assert_mistake(minbert("embed", run, tmp_path / "no.txt", tmp_path / "x.npy"), "no.txt", "no such file")
    assert_mistake(minbert("show", "baselin"), "Did you mean 'baseline'?")
    assert_mistake(minbert("show", "baseline", "--set", "stages.7.epochs=1"), "stages.7.epochs")


def test_the_systems_own_mistakes_are_no_tracebacks(minbert: Minbert, run: Path, tiny: Path, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "file.csv", "sentence", ["one"])
    assert_mistake(minbert("train", "demo", "--out", file / "x", "--set", f"backbone={tiny}"), "Not a directory")
    assert_mistake(minbert("embed", tiny, tmp_path, tmp_path / "x.npy"), "directory")
    (tmp_path / "folder.csv").mkdir()
    said = minbert("predict", run, "sentiment", "--input", file, "--output", tmp_path / "folder.csv", "--force")
    assert_mistake(said, "is a folder")


def test_bad_rows_of_all_files_and_tasks_are_told_at_once(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    good = [f"film {i},{'yes' if i % 2 else 'no'}" for i in range(20)]
    recipe = own_task(tmp_path, [*good, ",no"])
    write_csv(tmp_path / "dev.csv", "review,liked", [*good, *["fine,perhaps"] * 30])
    task = tmp_path / "films.toml"
    task.write_text(task.read_text() + 'dev = "dev.csv"\n')
    recipe.write_text(recipe.read_text() + '[tasks.again]\ntask = "films.toml"\n')
    said = minbert("train", recipe, "--out", tmp_path / "run", "--set", f"backbone={tiny}")
    assert_mistake(said, "films.csv:22: 'review' is empty", "dev.csv:22-51: 'liked' is 'perhaps'")
    said = minbert("check", recipe, "--set", f"backbone={tiny}")
    # both tasks read the same rows
    assert_mistake(said, "31 bad rows")
    assert len(said.out.splitlines()) == 2


def test_square_brackets_of_the_users_are_shown_as_they_are(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [f"[math]x[/math] film {i},{'[/b]' if i % 2 else '[no]'}" for i in range(40)]
    recipe = own_task(tmp_path, rows, labels='["[no]", "[/b]"]')
    write_csv(tmp_path / "dev.csv", "review,liked", rows[:4])
    task = tmp_path / "films.toml"
    task.write_text(task.read_text() + 'dev = "dev.csv"\n')
    said = minbert("check", recipe, "--set", f"backbone={tiny}")
    assert said.code == 1 and "[/b] 50.0%" in said.out and "[no] 50.0%" in said.out
    assert "4 of 4 dev rows are also training rows" in said.out and "[math]x[/math] film 0" in said.out
    assert minbert("train", recipe, "--out", tmp_path / "run", "--set", f"backbone={tiny}").code == 0
    said = minbert("predict", tmp_path / "run", "films", "[/i]")
    assert "[/b]" in said.out and "[no]" in said.out


def test_evaluate_needs_only_the_dev_file_and_remembers_what_was_skipped(
    minbert: Minbert, tiny: Path, tmp_path: Path
) -> None:
    rows = [f"film {i},{'yes' if i % 2 else 'no'}" for i in range(20)]
    recipe = own_task(tmp_path, rows)
    write_csv(tmp_path / "dev.csv", "review,liked", [*rows, "bad row,maybe"])
    task = tmp_path / "films.toml"
    task.write_text(task.read_text() + 'dev = "dev.csv"\n')
    said = minbert("train", recipe, "--out", tmp_path / "run", "--set", f"backbone={tiny}", "--skip-bad-rows")
    assert said.code == 0
    (tmp_path / "films.csv").unlink()
    found = json.loads(minbert("evaluate", tmp_path / "run", "--json").out)
    assert 0 <= found["tasks"]["films"]["accuracy"] <= 1
    assert_mistake(minbert("evaluate", tmp_path / "run/model"), "--data TASK=FILE")


def test_evaluate_falls_back_on_the_runs_own_files(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    assert minbert("evaluate", run, "--data-root", tmp_path, "--json").code == 0


def test_sigterm_marks_a_training_as_interrupted(tiny: Path, tmp_path: Path) -> None:
    words = [
        "train",
        "demo",
        "--out",
        str(tmp_path / "run"),
        "--set",
        f"backbone={tiny}",
        "--set",
        "stages.0.epochs=500",
    ]
    training = subprocess.Popen([sys.executable, "-m", "minbert", *words], stderr=subprocess.PIPE, text=True)
    log = tmp_path / "run/metrics.jsonl"
    until = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    training.terminate()
    _, said = training.communicate(timeout=60)
    assert training.returncode == 143
    assert "everything is saved" in said
    assert json.loads((tmp_path / "run/run.json").read_text())["state"] == "interrupted"


def test_the_installed_command_exits_with_2_and_no_traceback(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "minbert", "train", "nosuch", "--out", tmp_path / "x"], capture_output=True, text=True
    )
    assert_mistake(Said(said.returncode, said.stdout, said.stderr), "no recipe 'nosuch'")


# ---- answers ------------------------------------------------------------------------------------------


def test_predict_one_text_and_one_pair(minbert: Minbert, run: Path) -> None:
    said = json.loads(minbert("predict", run, "sentiment", "A fine day.", "--json").out)
    assert said["label"] in said["probabilities"]
    assert sum(said["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert 0 <= json.loads(minbert("predict", run, "similarity", "One.", "Two.", "--json").out)["score"] <= 5
    assert "very negative" in minbert("predict", run, "sentiment", "A fine day.").out


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_predict_a_file(ending: str, minbert: Minbert, run: Path, tmp_path: Path) -> None:
    output = tmp_path / f"answers.{ending}"
    said = minbert("predict", run, "sentiment", "--input", DEMO / "sentiment-dev.csv", "--output", output)
    assert said.code == 0, said.err
    from minbert.data.readers import read_columns

    rows = [values for _, values in read_columns(output, ["prediction", "p_0", "p_4"], "id")]
    assert [row[-1] for row in rows] == [f"sd{i:03}" for i in range(1, 151)]
    assert all(0 <= float(row[1]) <= 1 and str(row[0]) in "01234" for row in rows)
    again = ("predict", run, "sentiment", "--input", DEMO / "sentiment-dev.csv", "--output", output)
    assert_mistake(minbert(*again), "exists already", "--force")
    assert minbert(*again, "--force").code == 0
    assert_mistake(
        minbert("predict", run, "sentiment", "--input", output, "--output", output, "--force"), "is the input"
    )


def test_answers_in_a_file_are_those_given_one_by_one(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    output = tmp_path / "answers.csv"
    minbert("predict", run, "paraphrase", "--input", DEMO / "paraphrase-dev.tsv", "--output", output)
    with output.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:5]
    for row in rows:
        one = json.loads(minbert("predict", run, "paraphrase", row["question1"], row["question2"], "--json").out)
        assert one["probabilities"]["duplicate"] == pytest.approx(float(row["p_1"]), abs=1e-5)


def test_predict_in_the_courses_format(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    output = tmp_path / "answers.csv"
    words = (
        "predict",
        run,
        "sentiment",
        "--input",
        DEMO / "sentiment-dev.csv",
        "--output",
        output,
        "--format",
        "course",
    )
    assert minbert(*words).code == 0
    lines = output.read_text(encoding="utf-8").split("\n")
    assert lines[0] == "id \t Predicted_Sentiment "
    assert lines[1].startswith("sd001 , ") and lines[1].endswith(" ")


def test_evaluate_as_json_and_on_a_named_file(minbert: Minbert, run: Path) -> None:
    said = json.loads(minbert("evaluate", run, "--json").out)
    assert set(said["tasks"]) == {"sentiment", "paraphrase", "similarity"}
    tasks = said["tasks"]
    mean = (tasks["sentiment"]["accuracy"] + tasks["paraphrase"]["accuracy"] + tasks["similarity"]["pearson"]) / 3
    assert said["overall"] == pytest.approx(mean)
    one = json.loads(minbert("evaluate", run, "--data", f"sentiment={DEMO / 'sentiment-dev.csv'}", "--json").out)
    assert one["tasks"] == {"sentiment": tasks["sentiment"]}
    assert "accuracy" in minbert("evaluate", run).out


def test_embed_a_run_and_a_backbone(minbert: Minbert, run: Path, tiny: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("One\x0cline.\n\nA third\u2028line, the second was empty.\n", encoding="utf-8")
    for model in (run, tiny):
        output = tmp_path / f"{model.name}.npy"
        assert minbert("embed", model, texts, output, "--pooling", "mean", "--normalize").code == 0
        vectors = np.load(output)
        assert vectors.shape == (3, 32) and vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert_mistake(minbert("embed", tiny, texts, tmp_path / "x.npy", "--pooling", "meen"), "Did you mean 'mean'?")


# ---- discovery ----------------------------------------------------------------------------------------


def test_check_tells_sizes_copies_truncation_and_leaks(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = [f"film number {i} was fine,{'yes' if i % 2 else 'no'}" for i in range(20)]
    recipe = own_task(tmp_path, [*rows, rows[0], "word " * 50 + ",no"], max_length="32")
    # a dev file that repeats a training row, in other clothes
    write_csv(tmp_path / "dev.csv", "review,liked", ["Film NUMBER 7 was fine!,yes", "something else,no"])
    task = tmp_path / "films.toml"
    task.write_text(task.read_text() + 'dev = "dev.csv"\n')
    said = json.loads(minbert("check", recipe, "--set", f"backbone={tiny}", "--json").out)
    train, dev = said["splits"]
    assert (train["rows"], train["duplicates"], train["truncated"], train["max_length"]) == (22, 1, 1, 32)
    assert train["balance"]["no"] == pytest.approx(12 / 22)
    assert dev["rows"] == 2
    [leak] = said["leaks"]
    assert (leak["examples"], leak["texts"]) == (1, 1)
    assert "dev.csv:2" in leak["sample"]
    shown = minbert("check", recipe, "--set", f"backbone={tiny}").out
    assert "whole examples" in shown


def test_leaks_are_found_across_tasks(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    write_csv(tmp_path / "pairs.csv", "a,b,same", ["the dog runs,a dog is running,1", "one thing,another thing,0"] * 2)
    write_csv(tmp_path / "single.csv", "t,y", ["A dog is running.,0", "quite other,1"])
    files = '[files]\ntrain = "{}"\ndev = "{}"\n'
    (tmp_path / "pairs.toml").write_text(
        'kind = "classify"\ntext = ["a", "b"]\nlabel = "same"\n' + files.format("pairs.csv", "pairs.csv")
    )
    (tmp_path / "single.toml").write_text(
        'kind = "classify"\ntext = ["t"]\nlabel = "y"\n' + files.format("single.csv", "single.csv")
    )
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[tasks.pairs]\ntask = "pairs.toml"\n[tasks.single]\ntask = "single.toml"\n')
    said = json.loads(minbert("check", recipe, "--set", f"backbone={tiny}", "--json").out)
    leaks = {(leak["dev"], leak["train"]): (leak["examples"], leak["texts"]) for leak in said["leaks"]}
    assert leaks["single", "pairs"] == (0, 1)
    assert leaks["pairs", "single"] == (0, 2)


def test_show_resolves_and_counts(minbert: Minbert, tiny: Path) -> None:
    changes = [
        f"backbone={tiny}",
        "stages.0.trainable=heads",
        "tasks.similarity.head=linear",
        "tasks.similarity.pairing=cross_encoder",
    ]
    said = json.loads(
        minbert("show", "demo", *(word for change in changes for word in ("--set", change)), "--json").out
    )
    # linear heads on one vector of 32: 5, 2 and 1 outputs with biases
    assert {name: count["own"] for name, count in said["tasks"].items()} == {
        "sentiment": 33 * 5, "paraphrase": 33 * 2, "similarity": 33
    }  # fmt: skip
    assert said["total"] == said["encoder"] + 33 * 8
    assert said["stages"] == [33 * 8]
    assert said["recipe"]["stages"][0]["trainable"] == "heads"
    assert said["recipe"]["tasks"]["sentiment"]["loss"] == {"name": "cross_entropy", "label_smoothing": 0.0}


def test_lists(minbert: Minbert) -> None:
    assert "baseline" in minbert("recipes").out
    assert "sst" in minbert("tasks").out
    assert "minilm" in minbert("models").out


def test_every_command_teaches_with_help(minbert: Minbert) -> None:
    everything = minbert("--help").out
    for command in COMMANDS:
        assert command in everything
        said = minbert(command, "--help")
        assert said.code == 0
        assert "Usage" in said.out


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_help_are_commands(name: str) -> None:
    """Every example is read with the options of its command; nothing is run."""
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    command = group.commands[name]
    examples = re.findall(r"^(?:Example: |  )minbert (.+)$", command.help or "", re.MULTILINE)
    for example in examples:
        called, *words = shlex.split(example)
        assert called == name
        command.make_context(called, words)


def test_help_wraps_at_the_width_of_the_terminal(minbert: Minbert, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paragraph of the docstring is one paragraph of the help; indented lines stay apart."""

    def predict() -> None:
        """First line.

        One paragraph
        on two lines.

        Examples:
          one
          two
        """

    assert help_text(predict) == "First line.\n\nOne paragraph on two lines.\n\nExamples:\n  one\n  two"
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 200)
    said = minbert("resume", "--help").out
    assert any("The result is the same" in line and "cannot be resumed" in line for line in said.splitlines())


def test_a_command_to_copy_is_quoted_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/minbert", "embed", "minilm", "my texts.txt", "x.npy", "--force"])
    assert command_line() == "minbert embed minilm 'my texts.txt' x.npy --force"
    assert command_line("--resume", without=["--force"]) == "minbert embed minilm 'my texts.txt' x.npy --resume"
    # brackets are escaped for rich, blanks quoted for the shell
    assert shell_path(Path("a [b]")) == r"'a \[b]'"


def test_version(minbert: Minbert) -> None:
    assert minbert("--version").out.startswith("minbert 0.")


def test_predict_wants_a_task_or_several_and_not_both(minbert: Minbert, tmp_path: Path) -> None:
    for words in (["--input", "x.csv", "--output", "y.csv"], ["sst", "--tasks", "sst,sts", "--input", "x.csv"]):
        assert_mistake(minbert("predict", tmp_path, *words), "Name one task, or several with --tasks.")


def test_what_show_prints_is_a_recipe(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    shown = tmp_path / "shown.toml"
    shown.write_text(minbert("show", "demo", "--set", f"backbone={tiny}").out, encoding="utf-8")
    said = minbert("check", shown)
    assert said.code == 0, said.err


def test_show_knows_the_sizes_and_deviations_of_a_report_without_its_weights(minbert: Minbert) -> None:
    said = minbert("show", "papers/e-adaptation/top-layer", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert found["encoder"] == 109_482_240
    assert found["recipe"]["deviations"]["encoder"].startswith("The report's adaptation methods freeze BERT")
    said = minbert("show", "papers/e-adaptation/top-layer")
    assert "Where it departs from its source" in said.err and "- curriculum: The report does not say" in said.err


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ('defaults.shared_layer={name="x",dropout=2}', "'dropout' is at least 0 and below 1, not 2"),
        ('defaults.shared_layer={name=""}', "'name' is not empty"),
        ("optimizer.algorithm=AdamW", "Did you mean 'adamw'?"),
        ("selection.keep=newest", "'best' or 'last'"),
        ("stages.0.max_rows_per_task=third", "'smallest' or 'second_largest'"),
    ],
)
def test_wrong_values_of_a_recipe_are_named(minbert: Minbert, setting: str, reason: str) -> None:
    said = minbert("show", "demo", "--set", setting)
    assert said.code == 2 and reason in said.err


def test_optimizers_are_listed_under_their_common_name(minbert: Minbert) -> None:
    assert minbert("techniques", "optimizer").out == minbert("techniques", "algorithm").out != ""
