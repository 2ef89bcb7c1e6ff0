"""Validation rows: training rows that are held out to choose the model, so that the dev rows only measure it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minbert.comparison.fold_tasks import make_folds
from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.source import DEFAULT_SOURCE
from minbert.data.text_keys import example_keys
from minbert.data.validation_split import MOST_VALIDATION_ROWS, split_off_validation
from minbert.errors import UserError
from minbert.inference.saved_model import load_model
from minbert.runs.checkpoint import CheckpointInterval
from minbert.runs.directory import read_run
from minbert.runs.events import Evaluated, Started
from minbert.runs.run import resume_run, start_run
from minbert.runs.scoring import scoring_of
from minbert.training.loop import Step
from minbert.training.prepare import prepare, read_data
from tests.workbench import Minbert, demo_recipe, run_all, write_csv

HELD_OUT = "selection.validation_fraction=0.2"


def task_of(name: str = "mine", classes: int = 2) -> Task:
    return Task(name, Path(), kind="classify", text=("text",), label="y", labels=tuple(range(classes)))


def rows_of(texts: list[str], labels: list[int]) -> Dataset:
    ids = [str(row) for row in range(len(texts))]
    return Dataset((texts,), np.array(labels), ids, list(range(2, len(texts) + 2)), Path("mine.csv"))


# ---- the rows -----------------------------------------------------------------------------------------


def test_each_label_gives_its_fraction_and_copies_stay_together() -> None:
    texts = [f"text {i // 2}" for i in range(300)]
    train = rows_of(texts, [int(i >= 200) for i in range(300)])
    left, held_out = split_off_validation({"mine": task_of()}, {"mine": train}, 0.1, ["mine"])
    assert held_out["mine"].labels is not None
    assert Counter(held_out["mine"].labels.tolist()) == {0: 20, 1: 10}
    assert not set(left["mine"].texts[0]) & set(held_out["mine"].texts[0])
    assert len(left["mine"]) == 270


def test_no_more_rows_are_held_out_than_choose_well() -> None:
    train = rows_of([f"text {i}" for i in range(30_000)], [i % 2 for i in range(30_000)])
    left, held_out = split_off_validation({"mine": task_of()}, {"mine": train}, 0.1, ["mine"])
    assert len(held_out["mine"]) == MOST_VALIDATION_ROWS
    assert len(left["mine"]) == 30_000 - MOST_VALIDATION_ROWS


def test_no_task_trains_on_what_another_holds_out() -> None:
    texts = [f"text {i}" for i in range(200)]
    train = {"a": rows_of(texts, [i % 2 for i in range(200)]), "b": rows_of(texts, [i * 7 % 5 for i in range(200)])}
    # "c" only trains the encoder: it holds out nothing, and gives way too
    train["c"] = rows_of(texts, [0] * 200)
    tasks = {"a": task_of("a"), "b": task_of("b", 5), "c": task_of("c")}
    left, held_out = split_off_validation(tasks, train, 0.1, ["a", "b"])
    assert set(held_out) == {"a", "b"}
    gone = {text for rows in held_out.values() for text in rows.texts[0]}
    for name, rows in left.items():
        assert not gone & set(rows.texts[0])
        assert {reject.reason for reject in rows.skipped} <= {"a validation row of another task"}
        assert len(rows) + len(rows.skipped) + len(held_out.get(name, [])) == 200


def test_too_few_rows_name_the_setting() -> None:
    with pytest.raises(UserError, match="too few different examples") as wrong:
        split_off_validation({"mine": task_of()}, {"mine": rows_of(["a", "b"], [0, 1])}, 0.5, ["mine"])
    assert "--set selection.validation_fraction=0" in wrong.value.next_step


def test_the_rows_do_not_depend_on_seed_budget_or_evaluated_rows(tiny: Path) -> None:
    def held_out(*overrides: str) -> dict[str, list[str]]:
        data = read_data(demo_recipe(tiny, HELD_OUT, *overrides), DEFAULT_SOURCE)
        return {name: rows.ids for name, rows in data.validation.items()}

    first = held_out()
    for other in ("seed=3", "epoch_fraction=0.1", "selection.eval_rows=7"):
        assert held_out(other) == first
    data = read_data(demo_recipe(tiny), DEFAULT_SOURCE)
    assert not data.validation
    assert all(0.15 < len(ids) / len(data.train[name]) < 0.25 for name, ids in first.items())


@pytest.mark.parametrize("fraction", [-0.1, 1.0])
def test_a_fraction_is_a_fraction(tiny: Path, fraction: float) -> None:
    with pytest.raises(UserError, match="'validation_fraction' is a fraction"):
        demo_recipe(tiny, f"selection.validation_fraction={fraction}")


# ---- runs ---------------------------------------------------------------------------------------------


def test_validation_rows_choose_and_dev_rows_only_measure(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, HELD_OUT, "optimizer.learning_rate=2e-3", epochs=3, steps=8)
    events, finished = run_all(recipe, tmp_path / "run")
    ready = prepare(recipe)
    started = next(each for each in events if isinstance(each, Started))
    assert started.validation_rows == {name: len(split.dataset) for name, split in ready.validation.items()}
    assert not any(
        set(example_keys(ready.train[name].dataset.texts)) & set(example_keys(split.dataset.texts))
        for name, split in ready.validation.items()
    )
    model, _ = load_model(tmp_path / "run")
    scores = {}
    for kind, splits in {"validation": ready.validation, "dev": ready.dev}.items():
        scoring = scoring_of(model, splits)
        list(scoring)
        scores[kind] = scoring.scores
    best = [each for each in events if isinstance(each, Evaluated) and each.best][-1]
    for name, found in scores["validation"].items():
        metric = ready.tasks[name].metric
        assert best.scores[name][metric] == pytest.approx(found[metric], abs=1e-6)
        assert finished.scores[name][metric] == pytest.approx(scores["dev"][name][metric], abs=1e-6)


def stopped_and_resumed(recipe: Recipe, out: Path, after: int) -> None:
    events = start_run(recipe, out, every=CheckpointInterval(steps=2, seconds=None))
    next(event for event in events if isinstance(event, Step) and event.number == after)
    events.close()
    list(resume_run(out))


@pytest.mark.parametrize("chosen_for_the_data", [False, True])
def test_a_resumed_run_ends_the_same(tiny: Path, tmp_path: Path, chosen_for_the_data: bool) -> None:
    recipe = demo_recipe(tiny, HELD_OUT, epochs=2, steps=4)
    if chosen_for_the_data:
        data = write_csv(tmp_path / "x.csv", "text,label", [f"text number {i},{i % 3}" for i in range(90)])
        (tmp_path / "x.toml").write_text(
            f'backbone = "{tiny}"\nepochs = 2\nselection = {{ validation_fraction = 0.2 }}\n[tasks.x.task]\n'
            f'kind = "classify"\ntext = ["text"]\nlabel = "label"\nfiles = {{ train = "{data}" }}\n'
        )
        recipe = read_recipe(str(tmp_path / "x.toml"))
    run_all(recipe, tmp_path / "whole")
    stopped_and_resumed(recipe, tmp_path / "resumed", 3)
    for name in ("model.safetensors", "tasks.safetensors"):
        whole, resumed = (tmp_path / run / "model" / name for run in ("whole", "resumed"))
        assert whole.read_bytes() == resumed.read_bytes()
    assert read_run(tmp_path / "whole")["scores"] == read_run(tmp_path / "resumed")["scores"]


def test_a_sampler_that_looks_at_scores_sees_validation_rows(tiny: Path, tmp_path: Path) -> None:
    """Other dev rows change nothing in training."""
    rows = [f"a text about {i},{i % 2}" for i in range(80)]
    weights = []
    for number, answer in enumerate((0, 1)):
        folder = tmp_path / str(number)
        write_csv(folder / "x-train.csv", "text,label", rows)
        write_csv(folder / "x-dev.csv", "text,label", [f"dev text {i},{(i + answer) % 2}" for i in range(20)])
        task = 'task = { kind = "classify", text = ["text"], label = "label", labels = ["0", "1"], files = { '
        task += f'train = "{folder}/x-train.csv", dev = "{folder}/x-dev.csv" }} }}\n'
        (folder / "x.toml").write_text(
            f'backbone = "{tiny}"\n[tasks.x]\n{task}[tasks.y]\n{task}'
            '[[stages]]\nepochs = 3\nsteps_per_epoch = 4\nsampler = "prioritized"\n'
            "[selection]\nvalidation_fraction = 0.25\n"
        )
        run_all(read_recipe(str(folder / "x.toml")), folder / "run")
        weights.append((folder / "run/model/model.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_tuning_splits_all_training_rows_into_folds(tiny: Path, tmp_path: Path) -> None:
    def rows(recipe: Recipe, folder: Path) -> int:
        make_folds(recipe, DEFAULT_SOURCE, 3, folder)
        return sum(len(path.read_text().splitlines()) for path in folder.rglob("*-dev.jsonl"))

    recipe = demo_recipe(tiny)
    held_out = replace(recipe, selection=replace(recipe.selection, validation_fraction=0.2))
    assert rows(held_out, tmp_path / "held out") == rows(recipe, tmp_path / "all")


def test_train_says_that_the_dev_rows_chose_unless_other_rows_did(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    note = "The dev rows also chose the model"
    rows = [f"text number {i},{i % 2}" for i in range(60)]
    data = write_csv(tmp_path / "x-train.csv", "text,label", rows)
    words = ("--set", f"backbone={tiny}", "--set", "epochs=1", "--out")
    said = minbert("train", data, *words, tmp_path / "dev")
    assert said.code == 0, said.err
    assert said.out.count(note) == 1
    said = minbert("train", data, *words, tmp_path / "validation", "--set", HELD_OUT)
    assert said.code == 0 and note not in said.out
    # 54 rows are left beside the dev rows, and a fifth of 27 is 5 of each label
    assert "10 validation rows" in said.err
    test = write_csv(tmp_path / "x-test.csv", "text,label", [f"test number {i},{i % 2}" for i in range(20)])
    said = minbert("train", data, test, *words, tmp_path / "test")
    assert said.code == 0 and note not in said.out
