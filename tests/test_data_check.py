"""Data that gives a bad model, or scores that are too good: what `train` and `minbert check` say about it."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.config.loading import read_recipe
from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.leaks import find_split_leaks
from minbert.data.metrics import score
from minbert.data.text_keys import example_keys
from minbert.encoder.hub import KNOWN
from minbert.encoder.pretrained import save_backbone
from minbert.errors import UserError
from minbert.runs.constants import constant_scores
from minbert.runs.events import Finished, Started
from minbert.runs.predictions import read_dev_predictions
from minbert.runs.run import start_run
from minbert.runs.split_report import count_contradictions, count_unknown, suggest_max_length
from minbert.training.auto_length import chosen_length, explain_lengths
from minbert.training.planned_steps import planned_tasks
from minbert.training.prepare import prepare
from tests.tiny import tiny_bert, tiny_config, tiny_tokenizer
from tests.workbench import Minbert, demo_recipe, write_csv

THAI = ["หนังเรื่องนี้สนุกมาก", "อาหารอร่อยและราคาถูก", "บริการแย่มาก", "ฉันไม่ชอบหนังสือเล่มนี้"]


def yes_no(texts: list[str]) -> list[str]:
    return [f"{text},{'yes' if i % 2 else 'no'}" for i, text in enumerate(texts)]


def recipe_of(folder: Path, backbone: Path, train: list[str], dev: list[str] | None = None, **settings: str) -> Path:
    """A recipe with one task of the user's own."""
    write_csv(folder / "train.csv", "review,liked", train)
    table = {"kind": '"classify"', "text": '["review"]', "label": '"liked"', "labels": '["no", "yes"]'} | settings
    lines = [*(f"{key} = {value}" for key, value in table.items()), "[files]", 'train = "train.csv"']
    if dev is not None:
        write_csv(folder / "dev.csv", "review,liked", dev)
        lines.append('dev = "dev.csv"')
    (folder / "films.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = folder / "recipe.toml"
    path.write_text(f'backbone = "{backbone}"\n[tasks.films]\ntask = "films.toml"\n', encoding="utf-8")
    return path


@pytest.fixture
def leaky(tmp_path: Path, tiny: Path) -> Path:
    """40 dev rows, of which the first three are training rows in another spelling."""
    train = yes_no([f"film number {i} was fine" for i in range(60)])
    dev = yes_no([f"Film NUMBER {i} was fine!" for i in range(3)] + [f"book {i} is new" for i in range(37)])
    return recipe_of(tmp_path, tiny, train, dev)


def checked(minbert: Minbert, recipe: Path) -> tuple[int, dict[str, Any]]:
    said = minbert("check", recipe, "--json")
    return said.code, json.loads(said.out)


def messages(report: dict[str, Any], severity: str) -> list[str]:
    return [finding["message"] for finding in report["findings"] if finding["severity"] == severity]


# ---- leaks --------------------------------------------------------------------------------------------


def test_train_tells_leaks_before_it_starts_and_scores_without_them(leaky: Path, tmp_path: Path) -> None:
    events = list(start_run(read_recipe(str(leaky)), tmp_path / "run"))
    started, finished = events[0], events[-1]
    assert isinstance(started, Started) and isinstance(finished, Finished)
    assert started.warnings == (
        "films: 3 of 40 dev rows are also training rows (3 of 'films'), such as dev.csv:2: Film NUMBER 0 was fine!",
    )
    found = read_dev_predictions(tmp_path / "run", "films")
    # the leaked rows are the first three
    without = score(found.task, found.values[3:], found.labels[3:])
    assert finished.leaked == {"films": 3} and finished.without_leaks == {"films": without}
    assert finished.scores["films"] == pytest.approx(score(found.task, found.values, found.labels))
    record = json.loads((tmp_path / "run/run.json").read_text())["leaks"]
    untrained = record["films"].pop("probe_without")
    # of the 37 other rows, with all metrics
    assert untrained.keys() == without.keys() and round(37 * untrained["accuracy"], 6).is_integer()
    # all training rows but the leaked ones have "no" and "yes" in turn
    constant = constant_scores(found.task, {"no": 0.5, "yes": 0.5}, found.labels[3:])
    assert record == {
        "films": {
            "rows": 3,
            "in_training_rows_of": {"films": 3},
            "scores_without": without,
            "constant_without": constant,
        }
    }


def test_train_shows_both_scores(minbert: Minbert, leaky: Path, tmp_path: Path) -> None:
    said = minbert("train", leaky, "--out", tmp_path / "run")
    assert said.code == 0
    assert "warning: films: 3 of 40 dev rows are also training rows" in " ".join(said.err.split())
    record = json.loads((tmp_path / "run/run.json").read_text())
    score_with = record["scores"]["films"]["accuracy"]
    score_without = record["leaks"]["films"]["scores_without"]["accuracy"]
    assert f"films: accuracy {score_with:.3f}, without 3 leaked rows {score_without:.3f}" in said.out


def test_strict_stops_before_anything_is_written(minbert: Minbert, leaky: Path, tmp_path: Path) -> None:
    said = minbert("train", leaky, "--out", tmp_path / "run", "--strict")
    assert said.code == 2 and not (tmp_path / "run").exists()
    assert "3 of 40 dev rows are also training rows" in said.err and "without --strict" in said.err
    with pytest.raises(UserError, match="3 of 40 dev rows"):
        list(start_run(read_recipe(str(leaky)), tmp_path / "run", strict=True))


def test_clean_data_pass_strict_and_record_no_leaks(tiny: Path, tmp_path: Path) -> None:
    *_, finished = start_run(demo_recipe(tiny), tmp_path / "run", strict=True)
    assert isinstance(finished, Finished) and finished.leaked == finished.without_leaks == {}
    assert json.loads((tmp_path / "run/run.json").read_text())["leaks"] == {}


def test_a_run_whose_dev_rows_all_leak_has_no_other_score(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = yes_no([f"film {i}" for i in range(40)])
    said = minbert("train", recipe_of(tmp_path, tiny, rows, rows), "--out", tmp_path / "run")
    assert "all of its dev rows leaked" in said.out
    record = json.loads((tmp_path / "run/run.json").read_text())["leaks"]["films"]
    assert record["rows"] == 40 and record["scores_without"] is None


def test_rows_that_are_split_off_never_leak_between_the_tasks_of_a_file(
    minbert: Minbert, tiny: Path, tmp_path: Path
) -> None:
    rows = [f"message {i},{i % 2},{i * 7 % 5}" for i in range(300)]
    write_csv(tmp_path / "messages.csv", "text,spam,stars", rows)
    for name in ("spam", "stars"):
        lines = f'kind = "classify"\ntext = ["text"]\nlabel = "{name}"\n[files]\ntrain = "messages.csv"\n'
        (tmp_path / f"{name}.toml").write_text(lines)
    tables = [f'[tasks.{name}]\ntask = "{name}.toml"\n' for name in ("spam", "stars")]
    (tmp_path / "recipe.toml").write_text(f'backbone = "{tiny}"\n' + "".join(tables))
    code, report = checked(minbert, tmp_path / "recipe.toml")
    assert (code, report["leaked_rows"]) == (0, 0)
    assert all(leak["texts"] == 0 for leak in report["leaks"])


def test_leaks_of_a_hundred_thousand_rows_take_seconds() -> None:
    words = np.random.default_rng(0).integers(0, 5000, (110_000, 12)).astype(str)
    texts = [" ".join(text) for text in words]
    dev = Dataset((texts[99_900:],), None, texts[99_900:], list(range(10_100)), Path("dev.csv"))
    began = time.perf_counter()
    train_keys, dev_keys = example_keys([texts[:100_000]]), example_keys(dev.texts)
    leaks = find_split_leaks({"a": train_keys}, {"a": dev_keys}, {"a": dev})
    assert leaks.counts == {"a": 100}
    # well under a second on two old cores
    assert time.perf_counter() - began < 8


# ---- check --------------------------------------------------------------------------------------------


def test_check_fails_on_leaks_and_names_their_lines(minbert: Minbert, leaky: Path) -> None:
    code, report = checked(minbert, leaky)
    assert code == 1
    assert report["leaked_rows"] == 3 and report["leaked_lines"] == {"films": [2, 3, 4]}
    [wrong] = messages(report, "wrong")
    assert wrong.startswith("films: 3 of 40 dev rows are also training rows")


def test_good_data_pass(minbert: Minbert, tiny: Path) -> None:
    said = minbert("check", "demo", "--set", f"backbone={tiny}")
    assert said.code == 0
    assert "The recipe and its data are valid." in said.out and "wrong:" not in said.out


@pytest.mark.parametrize("share, severity", [(0.02, None), (0.1, "warning"), (0.3, "wrong")])
def test_texts_in_a_language_that_the_tokenizer_does_not_know(
    share: float, severity: str | None, minbert: Minbert, tiny: Path, tmp_path: Path
) -> None:
    english = [f"this film number {i} was good and funny and not too long" for i in range(400)]
    texts = [f"{THAI[i % 4]} {THAI[i % 3]}" if i < share * 400 else text for i, text in enumerate(english)]
    _, report = checked(minbert, recipe_of(tmp_path, tiny, yes_no(texts), yes_no(["a film", "a book"] * 20)))
    found = [finding for finding in report["findings"] if "tokenizer" in finding["message"]]
    assert [finding["severity"] for finding in found] == ([severity] if severity else [])
    # a Thai sentence without spaces is one [UNK]: the rows tell more than the tokens
    assert report["splits"][0]["unknown_rows"] == share * 400


def test_train_says_that_a_thai_file_needs_another_backbone(tiny: Path, tmp_path: Path) -> None:
    recipe = read_recipe(str(recipe_of(tmp_path, tiny, yes_no([f"{THAI[i % 4]} {i}" for i in range(60)]))))
    started = next(iter(start_run(recipe, tmp_path / "run")))
    assert isinstance(started, Started)
    warning = started.warnings[0]
    assert "does not know" in warning and "choose a backbone for this language" in warning
    assert "--set backbone=bert-multilingual" in warning and "bert-multilingual" in KNOWN


def test_unknown_tokens_are_counted_without_special_ones(tmp_path: Path, tiny: Path) -> None:
    rows = yes_no(["the film", "the หนัง", "หนัง", "good หนัง หนัง film"] * 2)
    ready = prepare(read_recipe(str(recipe_of(tmp_path, tiny, rows, rows))))
    # 2 + 2 + 1 + 4 tokens, of which 0 + 1 + 1 + 2 are unknown: at least half in three of four rows
    assert count_unknown(tiny_tokenizer(tmp_path), ready.train["films"].encoded) == (pytest.approx(4 / 9), 6)


def test_labels_that_are_rare_or_missing(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    train = [*yes_no([f"film {i}" for i in range(60)]), *(f"book {i},perhaps" for i in range(9))]
    recipe = recipe_of(
        tmp_path, tiny, train, yes_no([f"new {i}" for i in range(40)]), labels='["no", "yes", "perhaps", "never"]'
    )
    code, report = checked(minbert, recipe)
    assert code == 1 and messages(report, "wrong") == ["films: no training row has the label never"]
    warnings = messages(report, "warning")
    assert "films: labels with fewer than 10 training rows: perhaps (9)" in warnings
    assert "films: no dev row has any of the labels perhaps, never" in warnings
    assert report["splits"][0]["labels"] == {"no": 30, "yes": 30, "perhaps": 9, "never": 0}


def test_a_constant_label_is_wrong(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, tiny, [f"film {i},yes" for i in range(40)], yes_no([f"new {i}" for i in range(40)]))
    code, report = checked(minbert, recipe)
    assert code == 1
    assert messages(report, "wrong") == ["films: all training rows have the same label, so there is nothing to learn"]


def test_a_tiny_dev_split_is_warned_about(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    code, report = checked(minbert, recipe_of(tmp_path, tiny, yes_no([f"film {i}" for i in range(20)])))
    assert code == 0 and "films: only 2 dev rows, so its scores are rough" in messages(report, "warning")


@pytest.mark.parametrize("copies, code", [(1, 0), (2, 1)])
def test_contradictions_above_five_percent_are_wrong(
    copies: int, code: int, minbert: Minbert, tiny: Path, tmp_path: Path
) -> None:
    train = yes_no([f"film number {i}" for i in range(60)])
    # the copy of film 0, which is a no, and of film 1, which is a yes: 2 of 61 rows, and 4 of 62
    train += ["Film number 0!,yes", "film number 1,no"][:copies]
    found, report = checked(minbert, recipe_of(tmp_path, tiny, train, yes_no([f"new {i}" for i in range(40)])))
    assert found == code and report["splits"][0]["contradictions"] == 2 * copies
    [message] = messages(report, "wrong" if code else "warning")
    assert "have the same texts as a row with another label" in message


def test_contradictions_by_hand() -> None:
    keys = [("a", "b"), ("a", "b"), ("b", "a"), ("c", "d"), ("c", "d"), ("c", "d")]
    choice = Task("t", Path(), kind="classify", text=("x", "y"), label="l", labels=(0, 1))
    # entailment depends on the order of a pair: (b, a) does not contradict (a, b)
    assert count_contradictions(choice, keys, np.array([0, 0, 1, 1, 1, 0])) == 3
    scores = Task("t", Path(), kind="score", text=("x", "y"), label="l", range=(0.0, 4.0))
    # scores of the same pair may differ by a quarter of the range
    assert count_contradictions(scores, keys, np.array([1.0, 2.0, 4.0, 0.0, 1.0, 1.1])) == 3


def test_lengths_are_those_before_truncation(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    # 90 rows of 3 + 2 tokens and 10 of 40 + 2, with [CLS] and [SEP]
    texts = ["good film fun"] * 90 + [" ".join(["word"] * 40)] * 10
    rows = [f"{text},{'yes' if i % 2 else 'no'}" for i, text in enumerate(texts)]
    recipe = recipe_of(tmp_path, tiny, rows, yes_no([f"new {i}" for i in range(40)]), max_length="16")
    _, report = checked(minbert, recipe)
    train = report["splits"][0]
    assert [train[name] for name in ("median_tokens", "tokens_95", "tokens_99", "most_tokens")] == [5, 42, 42, 42]
    assert (train["max_length"], train["truncated"], train["suggested_max_length"]) == (16, 10, 48)
    assert (
        "films: 10% of the training rows are truncated at 16 tokens; to read more: --set tasks.films.max_length=48"
    ) in messages(report, "warning")
    assert "truncated at" not in minbert("check", recipe, "--set", "tasks.films.max_length=48").out


def test_max_length_is_suggested_where_many_are_cut_or_none_comes_near() -> None:
    lengths = np.array([10] * 90 + [100] * 10)
    assert suggest_max_length(lengths, 64, 512) == 112
    assert suggest_max_length(lengths, 64, 96) == 96
    # the backbone reads no more
    assert suggest_max_length(lengths, 64, 64) is None
    assert suggest_max_length(lengths, 128, 512) is None
    assert suggest_max_length(lengths, 400, 512) == 112
    # 5 % are not many
    assert suggest_max_length(np.array([10] * 95 + [100] * 5), 64, 512) is None


def test_max_length_is_chosen_for_the_data_where_nobody_writes_it() -> None:
    assert chosen_length([20] * 100, 512) == 128
    assert chosen_length([20] * 95 + [1000] * 5, 512) == 128
    assert chosen_length([20] * 90 + [150] * 10, 512) == 160
    # above 256 only if the user says so; never above what the backbone reads
    assert chosen_length([1000] * 100, 512) == 256
    assert chosen_length([1000] * 100, 64) == 64


def test_train_says_how_much_is_read_and_how_many_rows_are_longer(
    minbert: Minbert, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = replace(tiny_config(), max_position_embeddings=512)
    save_backbone(tmp_path / "tiny", tiny_bert(config=config), tiny_tokenizer(tmp_path / "tiny"))
    words = " ".join(["word"] * 300)
    write_csv(tmp_path / "long.csv", "review,liked", yes_no([f"{words} {i}" for i in range(40)]))
    options = ("--set", f"backbone={tmp_path / 'tiny'}", "--set", "epoch_fraction=0.02")
    said = minbert("train", "long.csv", "--out", "run", *options)
    assert said.code == 0
    assert "liked: at most 256 tokens of each row are read; 100% of the rows are longer and truncated" in said.err
    assert "warning: liked: 100% of the training rows are truncated at 256 tokens" in said.err
    assert "warning: liked: only 4 dev rows" in said.err
    assert "max_length = 256" in (tmp_path / "run/tasks/liked.toml").read_text()
    assert "--set tasks.liked.max_length=304" in said.err
    said = minbert("train", "long.csv", "--out", "run2", *options, "--set", "tasks.liked.max_length=304")
    assert said.code == 0 and "at most 304 tokens of each row are read; no row is longer" in said.err


def test_a_recipe_with_stages_reads_128_tokens_where_nobody_writes_it(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny))
    assert {ready.model.task(name).max_length for name in ready.tasks} == {128}


def test_the_share_of_longer_rows_in_words() -> None:
    assert explain_lengths({"a": 128, "b": 256}, {"a": 0.004, "b": 0.34}) == [
        "a: at most 128 tokens of each row are read; less than 1% of the rows are longer and truncated "
        "(--set tasks.a.max_length=...)",
        "b: at most 256 tokens of each row are read; 34% of the rows are longer and truncated "
        "(--set tasks.b.max_length=...)",
    ]


@pytest.mark.parametrize(
    "sampler, batches",
    [
        # 400, 320 and 320 rows in batches of 32: 13, 10 and 10 batches an epoch, 33 steps
        ("in_turn", [26, 20, 20]),
        ("round_robin", [22, 22, 22]),
        # 66 * 400 / 1040
        ("proportional", [25.385, 20.308, 20.308]),
    ],
)
def test_planned_batches_of_each_task(sampler: str, batches: list[float], tiny: Path) -> None:
    sizes = [f"tasks.{name}.batch_size=32" for name in ("sentiment", "paraphrase", "similarity")]
    recipe = demo_recipe(tiny, f"stages.0.sampler={sampler}", *sizes, epochs=2, steps=33)
    ready = prepare(recipe)
    before = ready.setup.plans[0].sampler.state()
    rows = {name: len(split.dataset) for name, split in ready.train.items()}
    planned = planned_tasks(ready.setup.plans, rows, 1)
    assert [each.batches for each in planned] == pytest.approx(batches, abs=1e-3)
    assert [each.passes for each in planned] == pytest.approx(
        [count / own for count, own in zip(batches, [13, 10, 10], strict=True)], abs=1e-3
    )
    assert ready.setup.plans[0].sampler.state() == before


def test_check_fits_eighty_columns(minbert: Minbert, leaky: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = minbert("check", leaky)
    assert said.code == 1 and "wrong: films: 3 of 40 dev rows" in said.out
    assert all(len(line) <= 80 for line in said.out.splitlines())
    assert "contradictions" in said.out and "max_length" in said.out


def test_an_unknown_language_is_the_advice_of_train_and_evaluate(minbert: Minbert, tiny: Path, tmp_path: Path) -> None:
    rows = yes_no([f"{THAI[i % 4]}{THAI[i // 4 % 4]} {THAI[i // 16 % 4]}" for i in range(64)])
    recipe = recipe_of(tmp_path, tiny, rows, yes_no([f"{text} {THAI[0]}" for text in THAI] * 2))
    # lines are wrapped, and where depends on the length of the path
    shown = " ".join(minbert("train", recipe, "--out", tmp_path / "run").out.split())
    advice = "choose a backbone for this language, such as --set backbone=bert-multilingual"
    assert advice in shown and "cannot tell" not in shown
    assert advice in " ".join(minbert("evaluate", tmp_path / "run").out.split())
