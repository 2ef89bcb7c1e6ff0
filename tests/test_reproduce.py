"""Rows of the reports trained under a budget: how much of each epoch that is, and what comes of an interruption."""

import itertools
import json
import re
import shutil
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minbert.comparison.budget import Budget, shortened
from minbert.comparison.engines.local import LocalEngine
from minbert.comparison.published import PublishedRow, choose_rows
from minbert.comparison.reproduce import (
    REPRODUCTION_COLUMNS,
    Reproduction,
    ReproductionCost,
    ReproductionSettings,
    RowOutcome,
    outcome_cells,
    reproduction_markdown,
)
from minbert.comparison.results import TrialResult
from minbert.comparison.store import Store
from minbert.config.loading import read_recipe
from minbert.data.source import DataSource
from minbert.durations import parse_duration
from minbert.training import draw_timing
from minbert.training.draw_costs import count_draws, draw_seconds
from minbert.training.draw_timing import time_draws
from minbert.training.prepare import prepare
from tests.course import course_data
from tests.workbench import Minbert


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return course_data(tmp_path_factory.mktemp("data"))


# ---- budgets ------------------------------------------------------------------------------------------


def test_times_as_people_write_them() -> None:
    assert [parse_duration(text) for text in ("90s", "5m", "1h", "300", "1.5 m")] == [90, 300, 3600, 300, 90]
    for wrong in ("5x", "", "-1m", "0", "m"):
        with pytest.raises(ValueError, match="is not a duration"):
            parse_duration(wrong)


@pytest.fixture
def seconds_are_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock for the budget that ticks once a look: every step takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(draw_timing, "time", types.SimpleNamespace(perf_counter=lambda: float(next(ticks))))


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        # 64 rows a task. Batches of 8 are 8 of each of three tasks, in ten epochs
        ("a-prioritisation/basic", 240),
        # 10 times 1950 steps, whatever is drawn
        ("c-pals/shared-annealed", 19_500),
        # ten times two batches of 32 of each task in turn, and two of all at once
        ("e-adaptation/hybrid", 80),
        # 64 rows in batches of 4, 64 and 4, ten times: 15 draws of two tasks, a second for each, and one of all three,
        # which is timed as one step
        ("b-cross-encoding/pcgrad", 310),
    ],
)
def test_an_estimate_counts_every_step_of_every_stage(
    name: str, seconds: int, tiny: Path, data: Path, seconds_are_steps: None
) -> None:
    recipe = read_recipe(f"papers/{name}", [f"backbone={tiny}"])
    ready = prepare(recipe, DataSource(data))
    assert draw_seconds(count_draws(ready.setup.plans, recipe), time_draws([ready])[0]) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("name", "seconds", "steps"),
    [
        # of 8 batches of each of three tasks in each of ten epochs, 2
        ("a-prioritisation/basic", 60, 60),
        ("a-prioritisation/basic", 89, 60),
        ("a-prioritisation/basic", 1000, 240),
        # of 2 batches of each task in turn and 2 of all at once, the first
        ("e-adaptation/hybrid", 79, 40),
        # it cannot be shorter
        ("e-adaptation/hybrid", 5, 40),
        ("c-pals/shared-annealed", 1000, 1000),
    ],
)
def test_a_budget_becomes_a_share_of_each_epoch(
    name: str, seconds: float, steps: int, tiny: Path, data: Path, seconds_are_steps: None
) -> None:
    recipe = read_recipe(f"papers/{name}", [f"backbone={tiny}"])
    short = shortened(recipe, Budget(seconds).epoch_fraction_of(recipe, DataSource(data)))
    assert prepare(short, DataSource(data)).setup.steps == steps


def test_a_budget_scores_few_rows_while_training() -> None:
    recipe = read_recipe("papers/a-prioritisation/basic")
    assert shortened(recipe, 0.5).selection.eval_rows == 500
    few = read_recipe("papers/a-prioritisation/basic", ["selection.eval_rows=20"])
    assert shortened(few, 0.5).selection.eval_rows == 20


def test_gathering_batches_makes_steps_fewer_and_longer(tiny: Path, data: Path, seconds_are_steps: None) -> None:
    recipe = read_recipe(
        "papers/a-prioritisation/basic", [f"backbone={tiny}", "optimizer.gradient_accumulation_steps=4"]
    )
    ready = prepare(recipe, DataSource(data))
    assert ready.setup.steps == 60
    assert draw_seconds(count_draws(ready.setup.plans, recipe), time_draws([ready])[0]) == pytest.approx(60)


# ---- rows ---------------------------------------------------------------------------------------------


def settings(tiny: Path, data: Path, out: Path) -> ReproductionSettings:
    return ReproductionSettings(out, str(tiny), 0.01, 0, DataSource(data))


def run_of(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def table_of(report: Path) -> dict[str, str]:
    """The lines of a Markdown table by their first cells."""
    return {line.split("|")[1].strip(): line for line in report.read_text().splitlines() if line.startswith("| ")}


def test_what_is_finished_is_kept_and_the_rest_goes_on(tiny: Path, data: Path, tmp_path: Path) -> None:
    def work() -> Reproduction:
        return Reproduction(choose_rows("c", ["c3", "c4"]), settings(tiny, data, tmp_path))

    # stopped after the first training
    first = work().train(LocalEngine(tmp_path, 1))
    done = next(told for told in first if isinstance(told, TrialResult))
    first.close()
    assert done.state == "finished"
    again = work()
    assert [outcome.failed for outcome in again.outcomes()] == ["", "not trained yet"]
    results = [told for told in again.train(LocalEngine(tmp_path, 1)) if isinstance(told, TrialResult)]
    assert results[0] == done
    three, four = again.outcomes()
    assert (three.failed, four.failed) == ("", "")
    assert set(four.figures) == {"sst", "quora", "sts"}
    assert four.cost is not None
    # one step in each of ten epochs: 1950 times next to nothing is at least one
    assert four.cost.steps == 10
    assert 0 < four.cost.epoch_fraction < 0.01
    assert four.cost.tokens > 10 * 40
    # all learn
    assert four.cost.total == four.cost.trainable


def test_a_model_that_fails_leaves_the_others_of_its_row(tiny: Path, data: Path, tmp_path: Path) -> None:
    work = Reproduction(choose_rows("d", ["d4t"]), settings(tiny, data, tmp_path))
    list(work.train(LocalEngine(tmp_path, 2)))
    good = work.results()
    broken = good | {"d4-quora": replace(good["d4-quora"], state="failed", reason="no memory")}
    four = work.trained(work.rows["d4"], broken)
    test = work.composed(work.rows["d4t"], {"d4": four})
    assert (list(four.figures), four.failed, four.overall) == (["sst", "sts"], "failed: no memory", None)
    assert (test.figures, test.failed) == (four.figures, "needs d4")


def test_another_seed_is_another_training_beside_the_first(tiny: Path, data: Path, tmp_path: Path) -> None:
    rows = choose_rows("c", ["c3"])
    work = Reproduction(rows, settings(tiny, data, tmp_path))
    list(work.train(LocalEngine(tmp_path, 1)))
    other = Reproduction(rows, ReproductionSettings(tmp_path, str(tiny), 0.01, 1, DataSource(data)))
    list(other.train(LocalEngine(tmp_path, 1)))
    assert sorted(row.seed for row in work.comparison.store.results().values()) == [0, 1]


def test_rows_that_differ_only_in_the_backbone_are_one_training_on_a_given_one(tiny: Path, tmp_path: Path) -> None:
    rows = choose_rows("b")
    given = Reproduction(rows, ReproductionSettings(tmp_path, str(tiny), 1.0))
    assert given.same == {"b5": "b4", "b6": "b4", "b8": "b7"}
    assert given.jobs["b5"] == given.jobs["b4"]
    own = Reproduction(rows, ReproductionSettings(tmp_path, "", 1.0))
    assert own.same == {}
    assert own.jobs["b5"][0].recipe.backbone == "bert-large"


def test_one_model_a_task_shares_the_budget_of_the_row(tiny: Path, tmp_path: Path) -> None:
    work = Reproduction(choose_rows("d", ["d4t"]), ReproductionSettings(tmp_path, str(tiny), 9.0))
    assert [(job.label, list(job.recipe.tasks), job.budget_fraction) for job in work.jobs["d4"]] == [
        ("d4-sst", ["sst"], 1 / 3),
        ("d4-quora", ["quora"], 1 / 3),
        ("d4-sts", ["sts"], 1 / 3),
    ]
    assert work.jobs["d4t"] == []
    singles = Reproduction(choose_rows("c", ["c1"]), ReproductionSettings(tmp_path, str(tiny)))
    assert [list(job.recipe.tasks) for job in singles.jobs["c1"]] == [["sst"], ["quora"], ["sts"]]


def test_costs_of_a_rows_models_add_up() -> None:
    assert ReproductionCost(1, 2, 3, 4, 5, 0.5) + ReproductionCost(10, 20, 30, 40, 50, 0.25) == ReproductionCost(
        11, 22, 33, 44, 55, 0.25
    )


# ---- the table ----------------------------------------------------------------------------------------


def test_a_line_has_published_and_measured_figures_beside_each_other() -> None:
    row = PublishedRow(id="x1", title="X", recipe="x", sst=0.5, quora=0.8, sts=0.6, printed=0.633, printed_as="mean")
    measured = {"sst": 0.4, "quora": 0.7, "sts": 0.2}
    outcome = RowOutcome(row, measured, cost=ReproductionCost(300, 1234, 5_000_000, 100, 50, 0.125), note="a note")
    # (.5 + .8 + .8) / 3 and (.4 + .7 + .6) / 3
    assert outcome_cells(outcome) == [
        "x1", "X", "dev", "0.500", "0.800", "0.600", "0.700", "0.633 (mean)", "0.400", "0.700", "0.200", "0.567",
        "300", "1,234", "5,000,000", "100", "50", "12.50%", "a note",
    ]  # fmt: skip
    text = reproduction_markdown([outcome, RowOutcome(row, failed="failed: a | b\nc")], "T", "about")
    lines = text.splitlines()
    assert lines[4].count("|") == lines[5].count("|") == lines[6].count("|") == len(REPRODUCTION_COLUMNS) + 1
    assert "**failed: a \\| b c**" in lines[7]


def test_the_command_shows_a_failed_row_and_goes_on(minbert: Minbert, tiny: Path, data: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "reports" / "c.md"
    words = ("reproduce", "c", "--rows", "c3,c4", "--backbone", tiny, "--budget", "0.01s", "--data-root", data)
    assert minbert(*words, "--out", out, "--report", report).code == 0
    assert "Validation rows, held out of the training rows, chose the models" in report.read_text(encoding="utf-8")
    lines = table_of(report)
    plan = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    keys = {trial["label"]: trial["key"] for trial in plan["trials"]}
    measured = run_of(out / "trials" / keys["c4"])
    assert f"{measured['overall']:.3f}" in lines["c4"]
    # published, and by the common formula
    assert "| 0.529 | 0.777 | 0.472 | 0.681 | 0.593 (mean) |" in lines["c4"]

    # something of the user's where the training of c3 should go
    folder = out / "trials" / keys["c3"]
    shutil.rmtree(folder)
    folder.write_text("keep me")
    store = Store(out / "results.sqlite")
    store.put(replace(store.results()[keys["c3"]], state="failed"))
    said = minbert(*words, "--out", out)
    assert said.code == 1
    assert "c3: failed" in said.out and "is not a run" in said.out
    assert folder.read_text() == "keep me"
    assert "**failed:" in table_of(out / "report.md")["c3"]
    assert run_of(out / "trials" / keys["c4"]) == measured


def test_a_row_composed_of_anothers_models_needs_no_training(
    minbert: Minbert, tiny: Path, data: Path, tmp_path: Path
) -> None:
    words = ("--backbone", tiny, "--budget", "0.01", "--data-root", data, "--out", tmp_path)
    said = minbert("reproduce", "d", "--rows", "d4t", *words)
    assert said.code == 0
    # the first metric of the only task of each
    scores = {
        row.label: next(iter(next(iter(row.scores.values())).values()))
        for row in Store(tmp_path / "results.sqlite").results().values()
        if row.scores
    }
    lines = {
        line.split("|")[1].strip(): line for line in (tmp_path / "report.md").read_text().splitlines() if "|" in line
    }
    for row in ("d4", "d4t"):
        assert f"| {scores['d4-sst']:.3f} |" in lines[row] and f"| {scores['d4-sts']:.3f} |" in lines[row]
    assert "test" in lines["d4t"] and "models of d4" in lines["d4t"]
    # half of the pairs are duplicates, and a constant correlates with nothing
    assert re.search(r"\| 0\.\d{3} \| 0\.500 \| 0\.000 \| 0\.\d{3} \|", lines["constant answer"])
    notes = [line for line in said.out.splitlines() if line.startswith("d4: ")]
    assert "not clearly better than the" in notes[0] or "does not beat the" in notes[0]
    assert "untrained backbone" in said.out and "untrained backbone" in lines


def test_mistakes_are_told_before_anything_is_trained(minbert: Minbert, tmp_path: Path) -> None:
    for words, message in (
        (("--rows", "c9"), "no row 'c9'"),
        (("--budget", "soon"), "'soon' is not a duration"),
    ):
        said = minbert("reproduce", "c", *words, "--out", tmp_path / "out")
        assert said.code == 2
        assert message in said.err
    assert not (tmp_path / "out").exists()
