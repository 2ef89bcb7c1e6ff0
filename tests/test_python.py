"""minbert.train from Python: every kind of data, the files it leaves, the run it returns, and docs/python.md."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import minbert
from minbert.python.options import as_overrides
from minbert.python.run_table import run_table
from minbert.runs.events import Finished, Started
from minbert.runs.outcomes import TaskOutcome
from tests.tiny import tiny_backbone
from tests.workbench import Minbert, write_csv

ROWS = [{"review": f"{'a great' if i % 2 else 'an awful'} film number {i}", "stars": 1 + i % 2} for i in range(40)]
PAIRS = [(f"a man number {i}", f"a woman number {i % 7}", i % 11 / 2) for i in range(40)]
SHORT = {"stages": [{"epochs": 1, "steps_per_epoch": 2}]}
PAGE = (Path(__file__).parents[1] / "docs/python.md").read_text(encoding="utf-8")


def train(data: Any, out: Path, tiny: Path, **options: Any) -> minbert.Run:
    settings = SHORT | options.pop("settings", {})
    return minbert.train(data, out, **{"backbone": tiny, "settings": settings, "progress": None, **options})


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# ---- data ---------------------------------------------------------------------------------------------


def test_rows_in_memory_become_a_run_that_is_read_like_any_other(minbert: Minbert, tmp_path: Path, tiny: Path) -> None:
    run = train({"mood": ROWS, "closeness": PAIRS}, tmp_path / "run", tiny)
    assert set(run.scores) == set(run.outcomes) == {"mood", "closeness"}
    assert lines_of(tmp_path / "run/data/mood-train.jsonl") == ROWS
    assert lines_of(tmp_path / "run/data/closeness-train.jsonl")[1] == {
        "text1": "a man number 1", "text2": "a woman number 1", "label": 0.5,
    }  # fmt: skip
    shown = minbert("evaluate", tmp_path / "run", "--json")
    assert shown.code == 0 and json.loads(shown.out)["tasks"] == run.scores == run.evaluate()
    again = minbert("train", tmp_path / "run/recipe.toml", "--out", tmp_path / "again")
    assert again.code == 0, again.err


def test_an_interrupted_run_is_resumed_from_its_own_data(minbert: Minbert, tmp_path: Path, tiny: Path) -> None:
    whole = train({"mood": ROWS}, tmp_path / "whole", tiny)
    events = minbert_events(ROWS, tmp_path / "run", tiny)
    assert isinstance(next(events), Started)
    next(events)
    events.close()  # type: ignore[attr-defined]
    stopped = open_run(tmp_path / "run")
    assert stopped.state == "interrupted" and not stopped.scores and "interrupted" in repr(stopped)
    assert minbert("resume", tmp_path / "run").code == 0
    assert open_run(tmp_path / "run").scores == whole.scores


def minbert_events(data: Any, out: Path, tiny: Path, **options: Any) -> Iterator[Any]:
    return minbert.train_events({"mood": data}, out, backbone=tiny, settings=SHORT, **options)


def open_run(path: Path) -> minbert.Run:
    return minbert.Run(path)


def test_the_events_are_those_of_any_run(tmp_path: Path, tiny: Path) -> None:
    events = list(minbert_events(ROWS, tmp_path / "run", tiny))
    names = [type(event).__name__ for event in events]
    assert names[0] == "Started" and names.count("Step") == 2 and names[-1] == "Finished"
    assert isinstance(events[-1], Finished) and events[-1].scores == minbert.Run(tmp_path / "run").scores


def test_frames_and_tables_are_the_rows_they_hold(tmp_path: Path, tiny: Path) -> None:
    expected = train({"mood": ROWS}, tmp_path / "list", tiny).scores
    table = pa.Table.from_pylist(ROWS)
    numpy_rows = [{"review": np.str_(row["review"]), "stars": np.int64(row["stars"])} for row in ROWS]
    lazy = polars.LazyFrame(ROWS)
    given = {"arrow": table, "numpy": numpy_rows, "generator": (row for row in ROWS), "lazy": lazy}
    for name, data in given.items():
        assert train({"mood": data}, tmp_path / name, tiny).scores == expected
        assert lines_of(tmp_path / name / "data/mood-train.jsonl") == ROWS


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_data_frames(library: Any, tmp_path: Path, tiny: Path) -> None:
    rows = [*ROWS, {"review": "a film without stars", "stars": None}]
    with pytest.warns(UserWarning, match="mood: 1 of 41 rows is skipped: 'stars' is empty"):
        train({"mood": library.DataFrame(rows)}, tmp_path / "run", tiny)
    assert lines_of(tmp_path / "run/data/mood-train.jsonl") == rows
    assert minbert.Run(tmp_path / "run").about["recipe"]["tasks"]["mood"]["task"]["missing"] == "skip"


def test_classes_of_a_hub_dataset_are_called_by_their_names(tmp_path: Path, tiny: Path) -> None:
    """And splits without labels are not measured."""
    features = datasets.Features(
        {"review": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    rows = [{"review": row["review"], "label": row["stars"] - 1} for row in ROWS]
    unlabeled = [{**row, "label": -1} for row in rows[:8]]
    splits = {"train": rows, "validation": rows[:8], "test": unlabeled}
    data = datasets.DatasetDict({name: datasets.Dataset.from_list(each, features) for name, each in splits.items()})
    # a format is for the user's eyes: the rows are the same
    with pytest.warns(UserWarning, match="dev rows"):
        run = train(data.with_format("pandas"), tmp_path / "run", tiny)
    assert run.predict("label", ["a film"])[0].label in ("bad", "good")
    assert lines_of(tmp_path / "run/data/rows-dev.jsonl")[1] == {"review": ROWS[1]["review"], "label": "good"}
    assert run.outcomes["label"].rows == 8 and run.outcomes["label"].test is None


def test_paths_tuples_and_chosen_columns(tmp_path: Path, tiny: Path) -> None:
    lines = [f"a film number {i},a note {i},{i % 2},{i % 3}" for i in range(40)]
    path = write_csv(tmp_path / "films.csv", "review,note,liked,mood", lines)
    run = train({"films": (path, lines_as_rows(lines[:10]))}, tmp_path / "run", tiny, text="note", label="mood")
    task = run.about["recipe"]["tasks"]["films"]["task"]
    assert task["text"] == ["note"] and task["label"] == "mood" and run.outcomes["films"].rows == 10
    assert [each.name for each in (tmp_path / "run/data").iterdir()] == ["films-dev.jsonl"]
    two = train([str(path)], tmp_path / "two", tiny, text="note", label=("mood", "liked"), kind="classify")
    assert set(two.scores) == {"mood", "liked"}
    named = train({"x": path}, tmp_path / "named", tiny, label={"x": ["mood", "liked"]}, text={"x": "review"})
    assert set(named.scores) == {"x_mood", "x_liked"}


def lines_as_rows(lines: list[str]) -> list[dict[str, str]]:
    return [dict(zip(("review", "note", "liked", "mood"), line.split(","), strict=True)) for line in lines]


def test_values_that_json_does_not_know(tmp_path: Path) -> None:
    from datetime import date

    from minbert.python.records import write_rows

    row = {"a": float("nan"), "b": np.float32(0.5), "c": b"text", "d": date(2024, 5, 1), 5: np.array([1, 2]), "e": True}
    write_rows(tmp_path / "x.jsonl", [row], "x")
    assert lines_of(tmp_path / "x.jsonl") == [
        {"a": None, "b": 0.5, "c": "text", "d": "2024-05-01", "5": [1, 2], "e": True}
    ]


# ---- errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        ({}, {}, "No data"),
        ({"mood": []}, {}, "no rows"),
        ({"mood": ["a text"]}, {}, "names no columns"),
        ({"mood": 5}, {}, "a value of type int is no table of rows"),
        ({"mood": {"review": ["a"], "stars": [1]}}, {}, "not review, stars"),
        ({"train": ROWS, "stars": ROWS}, {}, "not stars"),
        ({"train": ROWS, "dev": ROWS, "validation": ROWS}, {}, "two dev sets"),
        ({"mood": "nowhere.csv"}, {}, "there is no file nowhere.csv"),
        ({"mood": ROWS}, {"label": "star"}, "Did you mean 'stars'"),
        ({"mood": ROWS}, {"label": {"moods": "stars"}}, "Did you mean 'mood'"),
        ({"mood": ROWS}, {"kind": "regression"}, "'classify' or 'score'"),
        ({"mood": ROWS}, {"settings": {"optimizer.lr": 1}}, "lr"),
        ({"mood": ROWS}, {"backbone": "/nowhere"}, "no backbone folder"),
    ],
)  # fmt: skip
def test_an_error_of_the_user_leaves_nothing_behind(
    data: Any, options: dict[str, Any], said: str, tmp_path: Path, tiny: Path
) -> None:
    with pytest.raises(minbert.UserError, match=re.escape(said)):
        train(data, tmp_path / "run", tiny, **options)
    assert not (tmp_path / "run").exists()


def test_force_replaces_a_run_and_an_error_does_not_harm_it(tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "run"
    old = train({"mood": ROWS}, out, tiny)
    (out / "data/left.txt").write_text("from before")
    with pytest.raises(minbert.UserError, match="force=True"):
        train({"mood": ROWS[:30]}, out, tiny)
    with pytest.raises(minbert.UserError, match="no column"):
        train({"mood": ROWS[:30]}, out, tiny, force=True, text="nothing")
    with pytest.raises(minbert.UserError, match="backbone"):
        train({"mood": ROWS[:30]}, out, tiny, force=True, backbone="/nowhere")
    assert sorted(path.name for path in (out / "data").iterdir()) == ["left.txt", "mood-train.jsonl"]
    assert lines_of(out / "data/mood-train.jsonl") == ROWS and old.evaluate() == old.scores
    train({"mood": ROWS[:30]}, out, tiny, force=True)
    (file,) = (out / "data").iterdir()
    assert lines_of(file) == ROWS[:30]
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("important")
    with pytest.raises(minbert.UserError, match="is not a run"):
        train({"mood": ROWS}, other, tiny, force=True)
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


def test_settings_are_written_as_toml() -> None:
    given = {"optimizer.learning_rate": np.float64(1e-5), "tasks.a.head": {"name": "linear", "dropout": 0.5}}
    assert as_overrides(given, seed=3, backbone=None) == [
        "seed=3", "optimizer.learning_rate=1e-05", 'tasks.a.head={"name" = "linear", "dropout" = 0.5}',
    ]  # fmt: skip
    assert as_overrides({"a": [True, Path("x")]}) == ['a=[true, "x"]']


# ---- runs ---------------------------------------------------------------------------------------------


def test_a_run_answers_and_shows_itself(tmp_path: Path, tiny: Path) -> None:
    run = train({"mood": ROWS}, tmp_path / "<b>run", tiny)
    outcome = run.outcomes["mood"]
    assert isinstance(outcome, TaskOutcome) and outcome.value == run.scores["mood"]["accuracy"]
    assert repr(run) == f"Run('{run.path}', mood accuracy {outcome.value:.3f})"
    page = run._repr_html_()
    assert "&lt;b&gt;run" in page and "<b>" not in page
    assert page.count("<tr>") == 2 and f"<td>{outcome.low:.3f} to {outcome.high:.3f}</td>" in page
    loaded = minbert.load(run.path)
    assert run.predict("mood", ["a film", "a book"]) == loaded.predict("mood", ["a film", "a book"])
    wrong = [{**row, "stars": 3 - row["stars"]} for row in ROWS]
    right, turned = (run.evaluate({"mood": rows})["mood"]["accuracy"] for rows in (ROWS, wrong))
    assert right + turned == pytest.approx(1)


def test_a_notebook_shows_what_is_unclear_and_the_test_score(tmp_path: Path) -> None:
    worse = TaskOutcome("accuracy", 0.5, 0.4, 0.6, 10, 0.5, 0.4, 1.0)
    unclear = TaskOutcome("accuracy", 0.8, 0.6, 0.9, 10, 0.5, 0.7, 1.0, test=0.75)
    page = run_table(tmp_path, "finished", {"a": worse, "b": unclear})
    assert "0.500 (does not beat the constant answer)" in page
    assert "0.800 (not clearly better than the untrained backbone)" in page
    assert page.count("<th>") == 8 and "<th>test</th>" in page and "<td>0.750</td>" in page
    assert "unclear=('the untrained backbone',)" in repr(unclear)
    assert "test" not in run_table(Path("runs"), "finished", {"a": worse})


def test_a_budget_is_a_time_limit(tmp_path: Path, tiny: Path) -> None:
    run = train({"mood": ROWS}, tmp_path / "run", tiny, budget="30s")
    assert run.about["budget"]["seconds"] == 30
    with pytest.raises(minbert.UserError, match="not a duration"):
        train({"mood": ROWS}, tmp_path / "other", tiny, budget="soon")
    assert not (tmp_path / "other").exists()


def test_ctrl_c_saves_the_run_first(tmp_path: Path, tiny: Path) -> None:
    long = {"stages": [{"epochs": 1, "steps_per_epoch": 5000}]}
    code = f"""
import minbert
try:
    minbert.train({{"mood": {ROWS!r}}}, {str(tmp_path / "run")!r}, backbone={str(tiny)!r}, settings={long!r})
except KeyboardInterrupt as stopped:
    print(stopped)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("step 250/5,000" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert "Stopped after step" in out and "everything is saved. Resume with:  minbert.resume(" in out
    assert process.returncode == 0 and minbert.Run(tmp_path / "run").state == "interrupted"
    assert list((tmp_path / "run/checkpoints").iterdir())


def test_a_notebook_gets_plain_lines(tmp_path: Path, tiny: Path) -> None:
    """rich takes this class for a notebook's, where its bar would ask for ipywidgets."""
    code = f"""
import builtins
class ZMQInteractiveShell: pass
builtins.get_ipython = ZMQInteractiveShell
import minbert
minbert.train({{"mood": {ROWS!r}}}, {str(tmp_path / "run")!r}, backbone={str(tiny)!r}, settings={SHORT!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "36 training rows" in done.stderr and "step 1/2" in done.stderr
    assert "ipywidgets" not in done.stderr and "\x1b" not in done.stderr


# ---- docs/python.md -----------------------------------------------------------------------------------


def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a tiny backbone under the name of the default one."""
    tiny_backbone(tmp_path / "minilm")
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(snippets) == 7
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/python.md", "exec"), names)
    assert names["run"].state == "finished"
    assert names["search"].predict(["A fine film."])[0] in (1, 5)
