"""A run's scores next to its controls, in run.json and in `minbert evaluate`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.analysis.classification import analyze_classification
from minbert.cli.outcome_table import show_task_outcomes
from minbert.comparison.budget import shortened
from minbert.comparison.resampling import SummableMetric
from minbert.config.loading import recipe_from
from minbert.config.overrides import merge
from minbert.config.task import Task
from minbert.data.intervals import wilson_interval
from minbert.data.metrics import score
from minbert.encoder.bert import BertConfig
from minbert.runs.constants import constant_answer, constant_scores
from minbert.runs.events import Started
from minbert.runs.outcomes import TaskOutcome
from minbert.runs.predictions import read_dev_predictions
from minbert.runs.run import start_run
from minbert.training.auto import (
    AUTO_PATIENCE,
    EVALUATIONS,
    EXPONENT,
    FEWEST_PASSES,
    LEARNING_RATE,
    MOST_EXTRA,
    MOST_PASSES,
    PAIR_PASSES,
    PASSES,
    SCORED_ROWS,
    WIDTH,
    choose_settings,
    evaluations,
    passes,
    task_settings,
)
from minbert.training.planned_steps import planned_tasks
from minbert.training.stages import plan_stages
from tests.tiny import encoder_of
from tests.workbench import DEMO, Minbert, demo_recipe, run_all, write_csv

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    run_all(demo_recipe(tiny, "tasks.similarity=false", "tasks.paraphrase=false"), out)
    return out


def labels_task(**settings: object) -> Task:
    usual: dict[str, Any] = {"text": ("t",), "label": "l", "labels": ("no", "yes"), "metric": "f1"}
    return Task("x", Path(), kind="classify", **usual | settings)


def test_the_constant_answer_is_the_most_frequent_label() -> None:
    answer = constant_answer(labels_task(), np.array([1, 1, 1, 0]))
    assert answer == {"yes": 0.75, "no": 0.25} and next(iter(answer)) == "yes"
    # three of four rows are "yes": precision 3/4, recall 1
    found = constant_scores(labels_task(), answer, np.array([1, 0, 1, 1]))
    assert found["f1"] == pytest.approx(6 / 7) and found["accuracy"] == 0.75
    assert found["log_loss"] == pytest.approx(-(3 * np.log(0.75) + np.log(0.25)) / 4)


def test_a_threshold_does_not_change_the_constant_answer() -> None:
    """With a threshold of 0.2, frequencies of 0.25 would answer "yes" for every row."""
    answer = constant_answer(labels_task(), np.array([1, 0, 0, 0]))
    assert constant_scores(labels_task(threshold=0.2), answer, np.array([1, 0]))["f1"] == 0


def test_the_constant_answer_of_scores_is_their_mean() -> None:
    task = Task("x", Path(), kind="score", text=("t",), label="l", range=(0, 5), metric="mae")
    answer = constant_answer(task, np.array([1.0, 2.0, 6.0]))
    assert answer == 3.0 and constant_scores(task, answer, np.array([1.0, 3.0]))["mae"] == 1.0


def test_evaluate_shows_the_controls_of_the_run(minbert: Minbert, run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    expected = about["outcomes"]["sentiment"]
    assert expected["constant"] is not None and expected["probe"] is not None
    found = json.loads(minbert("evaluate", run, "--json").out)["outcomes"]["sentiment"]
    assert found == expected
    said = minbert("evaluate", run).out
    assert all(f"{expected[key]:.3f}" in said for key in ("constant", "probe", "low", "high"))
    assert ("does not beat" in said) == bool(expected["not_beaten"])
    assert "log_loss" in said


def test_evaluate_on_another_file_has_the_constant_answer_of_the_training_data(
    minbert: Minbert, run: Path, tmp_path: Path
) -> None:
    header, *rows = (DEMO / "sentiment-dev.csv").read_text(encoding="utf-8").splitlines()
    file = write_csv(tmp_path / "few.csv", header, rows[:30])
    found = json.loads(minbert("evaluate", run, "--data", f"sentiment={file}", "--json").out)["outcomes"]["sentiment"]
    answer = json.loads((run / "run.json").read_text())["outcomes"]["sentiment"]["constant_answer"]
    label = max(answer, key=lambda each: answer[each])
    hits = sum(row.endswith(f",{label}") for row in rows[:30])
    assert found["constant"] == pytest.approx(hits / 30)
    # the untrained backbone was not scored on these rows
    assert found["probe"] is None and found["rows"] == 30
    assert (found["low"], found["high"]) == pytest.approx(wilson_interval(round(30 * found["value"]), 30))


def test_a_task_that_does_not_beat_its_controls_is_named(minbert: Minbert, run: Path, tmp_path: Path) -> None:
    """All rows of a file have the most frequent label: no model is better than the constant answer."""
    answer = json.loads((run / "run.json").read_text())["outcomes"]["sentiment"]["constant_answer"]
    label = max(answer, key=lambda each: answer[each])
    file = write_csv(tmp_path / "same.csv", "id,sentence,sentiment", [f"{i},A film.,{label}" for i in range(5)])
    assert "does not beat the constant answer" in minbert("evaluate", run, "--data", f"sentiment={file}").out


def test_evaluate_a_model_without_its_run(minbert: Minbert, run: Path) -> None:
    data = f"sentiment={DEMO / 'sentiment-dev.csv'}"
    found = json.loads(minbert("evaluate", run / "model", "--data", data, "--json").out)["outcomes"]["sentiment"]
    assert found["constant"] is None and found["low"] < found["value"] < found["high"]


# ---- settings chosen for the data ----------------------------------------------------------------------


def test_what_was_chosen_is_said_before_training(tiny: Path, tmp_path: Path, minbert: Minbert) -> None:
    table = {
        "backbone": str(tiny),
        "tasks": {"sentiment": {"task": "demo/sentiment"}, "paraphrase": {"task": "demo/paraphrase"}},
        "epoch_fraction": 0.02,
    }
    started = next(iter(start_run(recipe_from(table, "x.toml"), tmp_path / "run")))
    assert isinstance(started, Started)
    said = "\n".join(started.settings)
    # 400 rows and 320 pairs in batches of 16: 9.5 and 5.3 passes are 237.2 and 106.1 steps, 43 in each of 8 parts. Of
    # 43 steps, 2 % are 1, so 8 in all, of which 237.2 / 343.3 are 5.5
    assert "sentiment: about 6 steps of 16 rows, 0.2 passes over 400 rows; head linear" in said
    assert "pairing combined, head linear" in said
    rate = LEARNING_RATE * WIDTH / 32
    assert f"learning rate {rate:.3g} (--set optimizer.learning_rate=...)" in said
    assert started.steps == 8 and "8 steps in all" in said
    shorter = recipe_from(table | {"epochs": 16, "epoch_fraction": 1}, "x.toml")
    started = next(iter(start_run(shorter, tmp_path / "shorter")))
    assert isinstance(started, Started) and "16.0 passes over 400 rows" in "\n".join(started.settings)
    # stages are the user's own choice
    assert next(iter(start_run(demo_recipe(tiny), tmp_path / "other"))).settings == ()  # type: ignore[union-attr]
    words = ("train", DEMO / "sentiment-train.csv", "--set", "epoch_fraction=0.02", "--set", f"backbone={tiny}")
    assert "learning rate" in minbert(*words, "--out", tmp_path / "files").err


@pytest.mark.parametrize(
    ("rows", "epochs", "steps"), [(54, 0.1, 1), (54, 1, 4), (54, 3, 12), (54, 30, 120), (400, 1, 25)]
)
def test_epochs_are_passes_over_the_rows(rows: int, epochs: float, steps: int) -> None:
    """54 rows are three batches of 16 and one of 6."""
    task = labels_task()
    recipe = recipe_from({"tasks": {"x": {"task": {}}}, "epochs": epochs}, "x.toml")
    (stage,) = choose_settings(recipe, {"x": task}, BertConfig(), {"x": rows}).stages
    assert stage.steps_per_epoch is not None and stage.epochs * stage.steps_per_epoch == steps


@pytest.mark.parametrize("steps", [*range(1, 60), 449, 1003, 20_011])
def test_training_is_cut_into_equal_parts(steps: int) -> None:
    parts = evaluations(steps)
    assert min(steps, EVALUATIONS) // 2 < parts <= EVALUATIONS
    assert 0 <= parts * -(-steps // parts) - steps <= max(3, MOST_EXTRA * steps)


def test_the_documented_rules_are_those_of_the_program() -> None:
    text = " ".join((DOCS / "recipes.md").read_text(encoding="utf-8").split())
    section = text.split("## Without stages: settings chosen for the data")[1].split(" ## ")[0]
    formula = f"{PASSES:g} · (1,000 / rows)^{EXPONENT:g} passes, pairs with labels half as many"
    assert PASSES == 2 * PAIR_PASSES
    assert f"{formula}, at least {FEWEST_PASSES:g}, at most {MOST_PASSES:g}" in section
    for rows in (100, 1000, 10_000, 100_000):
        single, paired = (passes(rows, labels_task(text=text)) for text in (("a",), ("a", "b")))
        assert f"| {rows:,} | {single:.1f} | {paired:.1f} |" in section
    task = labels_task()
    small, large = (task_settings(task, rows, "bi_encoder")["batch_size"] for rows in (4999, 5000))
    assert f"{small} rows for tasks below 5,000 rows, otherwise {large}" in section
    assert f"evaluated {EVALUATIONS} times" in section and f"at most {SCORED_ROWS:,} dev rows" in section
    assert f"{AUTO_PATIENCE} evaluations in a row" in section
    assert f"{LEARNING_RATE:g} · {WIDTH} / width" in section


@pytest.mark.parametrize("names", [("paraphrase", "similarity"), ("sentiment",)])
@pytest.mark.parametrize("rate", [1e-4, 3.0])
def test_what_is_kept_is_never_worse_than_the_untrained_backbone(
    tiny: Path, tmp_path: Path, minbert: Minbert, rate: float, names: tuple[str, ...]
) -> None:
    """Also for pairs, which the untrained backbone reads as two texts and the trained model as one sequence."""
    table = {
        "backbone": str(tiny),
        "tasks": {name: {"task": f"demo/{name}"} for name in names},
        "epoch_fraction": 0.02,
        "optimizer": {"learning_rate": rate},
    }
    _, finished = run_all(recipe_from(table, "x.toml"), tmp_path / "run")
    values, probes = ([getattr(each, key) for each in finished.outcomes.values()] for key in ("value", "probe"))
    assert sum(values) >= sum(probes) - 1e-6
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert about["kept_step"] == finished.kept_step
    if rate > 1:  # the steps only do damage
        assert not finished.kept_step
        found = json.loads(minbert("evaluate", tmp_path / "run", "--json").out)["outcomes"]
        assert found[names[0]]["value"] == pytest.approx(finished.outcomes[names[0]].value)


def test_the_untrained_backbone_competes_in_comparisons_too(tiny: Path, tmp_path: Path) -> None:
    table = {
        "backbone": str(tiny),
        "tasks": {"sentiment": {"task": "demo/sentiment"}},
        "epoch_fraction": 0.02,
        "optimizer": {"learning_rate": 3.0},
    }
    _, finished = run_all(recipe_from(table, "x.toml"), tmp_path / "run", controls=False)
    # the steps only do damage
    assert not finished.kept_step


# ---- what a task beats ---------------------------------------------------------------------------------


def outcome(value: float, low: float, high: float, constant: float, probe: float, rows: int = 200) -> TaskOutcome:
    return TaskOutcome("accuracy", value, low, high, rows, constant, probe, 1.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (outcome(0.9, 0.85, 0.94, 0.5, 0.7), ""),
        (outcome(0.7, 0.6, 0.8, 0.5, 0.8), "x does not beat the untrained backbone. More labeled rows"),
        # equal to the eye
        (outcome(0.85003, 0.6, 0.9, 0.5, 0.84999), "x does not beat the untrained backbone."),
        (outcome(0.4, 0.3, 0.5, 0.42, 0.41), "x does not beat the constant answer and the untrained backbone."),
        (
            outcome(0.42, 0.25, 0.6, 0.33, 0.39, 31),
            "x is not clearly better than the constant answer and the untrained",
        ),
        (outcome(0.42, 0.25, 0.6, 0.33, 0.39, 31), "31 dev rows cannot tell"),
        (
            outcome(1.0, 0.6, 1.0, 0.5, 1.0, 6),
            "The untrained backbone already has the best possible accuracy, so the 6 dev rows are too easy",
        ),
        (outcome(1.0, 0.2, 1.0, 1.0, 1.0, 1), "so the 1 dev row is too easy to show what training adds: measure on"),
        # a known cause comes before the number of rows
        (
            replace(outcome(0.4, 0.3, 0.5, 0.42, 0.41, 31), unknown=0.97, trained_part=0.1),
            "x does not beat the constant answer and the untrained backbone. The tokenizer does not know many",
        ),
        (
            replace(outcome(0.4, 0.3, 0.5, 0.42, 0.41, 31), unknown=0.01, trained_part=0.124),
            "Only 12% of its planned steps fitted into the time: give it a longer --budget.",
        ),
        (replace(outcome(0.4, 0.3, 0.5, 0.42, 0.41, 31), unknown=0.01, trained_part=0.9), "31 dev rows cannot tell"),
    ],
)
def test_a_claim_goes_no_further_than_its_interval(
    found: TaskOutcome, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_task_outcomes({"x": found}, found.value)
    after = " ".join(capsys.readouterr().out.split("\n", 2)[2].split())
    assert after.startswith(said) or (said and said in after) if said else not after


def test_a_fitted_threshold_decides_wherever_predictions_are_read(tiny: Path, tmp_path: Path) -> None:
    """A rare label and metric f1: with the threshold, most of its rows are found; at 1/2, hardly any."""
    rows = [f"A {'fine' if i % 9 == 0 else 'dull'} film {i}.,{int(i % 9 == 0 and i % 2 == 0)}" for i in range(900)]
    file = write_csv(tmp_path / "rare.csv", "text,spam", rows)
    task = {"kind": "classify", "text": ["text"], "label": "spam", "labels": [0, 1], "metric": "f1"}
    table = {"backbone": str(tiny), "tasks": {"spam": {"task": task | {"files": {"train": str(file)}}}}, "epochs": 1}
    _, finished = run_all(recipe_from(table, "x.toml"), tmp_path / "run")
    found = read_dev_predictions(tmp_path / "run", "spam")
    assert found.task.threshold is not None
    assert score(found.task, found.values, found.labels) == pytest.approx(finished.scores["spam"])
    outcome = finished.outcomes["spam"]
    assert outcome.low <= outcome.value <= outcome.high
    counts = analyze_classification(found.task, found.values, found.labels).confusion
    assert 2 * counts[1][1] / (2 * counts[1][1] + counts[0][1] + counts[1][0]) == pytest.approx(outcome.value)
    assert SummableMetric("f1", [found.for_metric("f1")], found.labels).resampled(np.ones((1, len(found.labels)))) == (
        pytest.approx(outcome.value)
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"optimizer": {"gradient_accumulation_steps": 4}},
        {"defaults": {"batch_size": 40}},
        {"tasks": {"a": {"batch_size": 40}}},
    ],
)
def test_epochs_are_passes_whatever_the_batches(settings: dict[str, Any], tiny: Path, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", "text,a", [f"film {i},{i % 2}" for i in range(3200)])
    task = {"kind": "classify", "text": ["text"], "label": "a", "labels": [0, 1]}
    files = {"train": str(file), "dev": str(file)}
    table = merge({"backbone": str(tiny), "tasks": {"a": {"task": task | {"files": files}}}, "epochs": 4}, settings)
    recipe = recipe_from(table, "x.toml")
    chosen = choose_settings(recipe, recipe.read_tasks(), encoder_of(8).config, {"a": 3200})
    plans = plan_stages(chosen, {"a": 3200}, {"a": 16})
    (planned,) = planned_tasks(plans, {"a": 3200}, chosen.optimizer.gradient_accumulation_steps)
    assert planned.passes == pytest.approx(4, rel=0.02)


def test_a_shortened_trial_keeps_the_chosen_settings() -> None:
    recipe = shortened(recipe_from({"tasks": {"sst": {}}}, "x.toml"), 0.5)
    chosen = choose_settings(recipe, recipe.read_tasks(), encoder_of(8).config, {"sst": 1000})
    assert chosen.selection.patience == AUTO_PATIENCE and chosen.epoch_fraction == 0.5
    assert chosen.selection.eval_rows == recipe.selection.eval_rows
