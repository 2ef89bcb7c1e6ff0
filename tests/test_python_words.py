"""What Python's users read: messages name parameters and rows, not options and files; warnings; notebooks."""

import os
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import minbert
from minbert.python.wording import in_python
from tests.test_python import PAIRS, ROWS, SHORT, train

LONG = {"stages": [{"epochs": 1, "steps_per_epoch": 5000}]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("use --kind score, --force or --skip-bad-rows", 'use kind="score", force=True or skip_bad_rows=True'),
        ("1e-4 (--set optimizer.learning_rate=...)", '1e-4 (settings={"optimizer.learning_rate": ...})'),
        ("(--set tasks.TASK.head=..., tasks.TASK.x=...)", '(settings={"tasks.TASK.head": ..., "tasks.TASK.x": ...})'),
        ("such as --set backbone=bert-multilingual", 'such as backbone="bert-multilingual"'),
        ('--set tasks.s.head="linear": no', 'settings={"tasks.s.head": "linear"}: no'),
        ("(--set seed=1, epochs=...)", '(seed=1, settings={"epochs": ...})'),
        ("8 (--set epoch_fraction=0.5: half as many)", '8 (settings={"epoch_fraction": 0.5}: half as many)'),
        ("For example: --set optimizer.algorithm=radam.", 'For example: settings={"optimizer.algorithm": "radam"}.'),
        ("--set tasks.s.task.range=[0,5]. Fix", 'settings={"tasks.s.task.range": [0,5]}. Fix'),
        ("for example: --text review --label stars (--text twice for pairs, --label again for more tasks)",
         'for example: text="review", label="stars" (text=["a", "b"] for pairs, label=["a", "b"] for more tasks)'),
        ('--text "my text" --label COLUMN', 'text="my text", label="COLUMN"'),
        ("is left out; to learn it: --label mood", 'is left out; to learn it: label="mood"'),
        ("Name another column with --label, or use --kind score.",
         'Name another column with `label`, or use kind="score".'),
        ("Choose one with --label.", "Choose one with `label`."),
        ("Create it with: minbert train RECIPE --out RUN", 'Create it with: minbert.train(data, out="RUN")'),
        ("Continue it:  minbert resume runs/x\nOr name another --out",
         'Continue it:  minbert.resume("runs/x")\nOr name another `out`'),
        ("minbert resume 'my runs/x'", 'minbert.resume("my runs/x")'),
        ("'y' is empty: predict it with `minbert predict --input`", "'y' is empty: predict it with run.predict"),
    ],
)  # fmt: skip
def test_options_are_parameters(before: str, after: str) -> None:
    assert in_python(before) == after


def test_no_option_of_the_command_line_is_shown(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minbert.train({"mood": ROWS}, tmp_path / "run", backbone=tiny, settings={"epoch_fraction": 0.01})
    said = capsys.readouterr()
    assert 'settings={"optimizer.learning_rate": ...}' in said.err
    assert "--" not in said.out + said.err


# ---- errors -------------------------------------------------------------------------------------------


def wrong_rows(count: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"review": row["review"], "score": i / 40} for i, row in enumerate(ROWS)]
    return [{**row, "score": "bad"} if i < count else row for i, row in enumerate(rows)]


def test_bad_rows_are_named_by_their_place_in_what_was_given(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(minbert.UserError) as caught:
        train({"s": wrong_rows(1)}, tmp_path / "run", tiny, kind="score")
    assert "s (train), row 0: 'score' is 'bad', not a number" in caught.value.problem
    assert caught.value.next_step == "Fix these rows, or skip them with skip_bad_rows=True. Rows are counted from 0."
    assert "jsonl" not in str(caught.value) and not (tmp_path / "run").exists()
    with pytest.raises(minbert.UserError) as caught:
        train({"s": wrong_rows(0)}, tmp_path / "run", tiny, settings={**SHORT, "tasks.s.task.range": [0, 0.5]})
    lines = caught.value.problem.splitlines()
    assert len(lines) == 6 and lines[0].startswith("s (train), row 21: ") and lines[-1] == "... and 14 more reasons."


def test_an_infinite_score_is_no_reason_to_widen_the_range(tmp_path: Path, tiny: Path) -> None:
    frame = pandas.DataFrame(wrong_rows(0))
    frame.loc[3, "score"] = float("inf")
    with pytest.raises(minbert.UserError, match=r"s \(train\), row 3: 'score' is inf") as caught:
        train({"s": frame}, tmp_path / "run", tiny)
    assert "widen" not in str(caught.value)
    frame.loc[3, "score"] = 7.0
    with pytest.raises(minbert.UserError, match=re.escape('settings={"tasks.TASK.task.range": [LOW,HIGH]}')):
        train({"s": frame}, tmp_path / "run", tiny, settings={**SHORT, "tasks.s.task.range": [0, 1]})


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (None, {}, "No data is given"),
        ({"s": None}, {}, "s: there are no training rows"),
        ({"s": {"train": None, "dev": ROWS}}, {}, "s: there are no training rows"),
        ({"s": ROWS}, {"text": 1.5}, 'or a list of names, not 1.5.\nFor example: text="review"'),
        ({"s": ROWS}, {"progress": "line"}, "progress is 'bar' or None"),
        ({"s": "nowhere.csv"}, {}, "relative paths begin at"),
        ({"s": "."}, {}, "is a directory, not a file.\nName a file in it."),
        ({"s": ([row["review"] for row in ROWS], [1, 2] * 20)}, {}, "list(zip(texts, labels))"),
        ({"s": (pandas.Series(["a", "b"]), np.array([0, 1]))}, {}, "list(zip(texts, labels))"),
        ({"s": [row["review"] for row in ROWS]}, {}, "list(zip(texts, labels))"),
        ({"train": ROWS, "unsupervised": ROWS}, {}, '{"train": data["train"], "dev": data["unsupervised"]}'),
        ({"train": ROWS, "test": ROWS, "validation_matched": ROWS}, {}, "not validation_matched."),
        (pandas.DataFrame([["a", "b", 1]] * 9, columns=["text", "text", "y"]), {}, "two columns are called 'text'"),
        ({"s": ROWS}, {"recipe": "nope"}, "no recipe 'nope'.\nName a file"),
        ({"s": ROWS}, {"kind": "regression"}, 'not \'regression\'.\nUse kind="score".'),
        ({"s": ROWS}, {"kind": {"s": "classification"}}, 'not \'classification\'.\nUse kind="classify".'),
        ({"s": ROWS}, {"seed": 1.5}, "seed is a whole number of at least 0, not 1.5.\nFor example: seed=0"),
        ({"s": ROWS}, {"seed": -1}, "seed is a whole number of at least 0, not -1."),
        ({"s": ROWS}, {"seed": 1, "settings": {"seed": 2}}, "seed is given twice"),
        ({"s": ROWS}, {"metric": "f2"}, 'metric="f2": no task has this metric.\nChoose one of: kind classify: acc'),
        ({"s": ROWS}, {"metric": {"s": "mae"}}, 'metric="mae": no task has this metric.'),
        ({"s": [("word " * 30).strip()]}, {}, "...' is no row"),
        ({"": ROWS}, {}, "The name of a task is empty."),
        ({"overall": ROWS}, {}, "A task cannot be called 'overall': it is the score of all tasks together."),
        ({"all": ROWS}, {}, "A task cannot be called 'all'"),
        ({"s": [{**row, "stars": 1} for row in ROWS]}, {}, "Add rows with other labels, or name another column with"),
        ({"s": ["word " * 30]}, {}, "row 0: 'word word "),
    ],
)  # fmt: skip
def test_every_mistake_has_a_next_step(
    data: Any, options: dict[str, Any], said: str, tmp_path: Path, tiny: Path
) -> None:
    with pytest.raises(minbert.UserError, match=re.escape(said)) as caught:
        train(data, tmp_path / "run", tiny, **options)
    assert caught.value.next_step and isinstance(caught.value, ValueError)
    assert not (tmp_path / "run").exists()


def test_data_in_memory_is_no_file(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(minbert.UserError) as caught:
        train({"s": ROWS}, tmp_path / "run", tiny, text="nothing")
    assert str(caught.value) == "s (train): no column 'nothing'.\nIt has the columns review, stars."
    with pytest.raises(minbert.UserError) as caught:
        train({"s": [{"a": "b", "c": "d"}] * 9}, tmp_path / "run", tiny)
    assert "JSON" not in str(caught.value) and "file" not in str(caught.value)
    with pytest.warns(UserWarning, match=r"such as s \(dev\), row 0: "):
        train({"s": (ROWS, ROWS[:10])}, tmp_path / "run", tiny)
    capsys.readouterr()
    train({"s": ROWS}, tmp_path / "shown", tiny, progress="bar")
    said = capsys.readouterr().out
    assert said.startswith("s (train): 40 rows\n") and "jsonl" not in said and "JSON" not in said


def test_the_metric_is_for_all_data_or_for_each(tmp_path: Path, tiny: Path) -> None:
    both = {"mood": ROWS, "close": PAIRS}
    run = train(both, tmp_path / "run", tiny, metric="macro_f1")
    assert {name: each.metric for name, each in run.outcomes.items()} == {"mood": "macro_f1", "close": "pearson"}
    events = minbert.train_events(both, tmp_path / "each", backbone=tiny, metric={"close": "mae"}, settings=SHORT)
    assert list(events)[-1].outcomes["close"].metric == "mae"  # type: ignore[union-attr]


def test_settings_are_a_dict(tmp_path: Path) -> None:
    with pytest.raises(minbert.UserError, match=re.escape('For example: settings={"optimizer.learning_rate": 1e-4}')):
        minbert.train({"s": ROWS}, tmp_path / "run", settings="epoch_fraction=.1")  # type: ignore[arg-type]


def test_where_a_run_cannot_be(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    for out in (None, tmp_path / "file.txt"):
        with pytest.raises(minbert.UserError, match="out"):
            train({"s": ROWS}, out, tiny)  # type: ignore[arg-type]
    with pytest.raises(minbert.UserError, match=re.escape('minbert.train(data, out="RUN")')):
        minbert.load(tmp_path / "nope")
    with pytest.raises(minbert.UserError, match=re.escape('minbert.train(data, out="RUN")')):
        minbert.Run(tmp_path / "nope")


def test_columns_may_have_numbers_for_names(tmp_path: Path, tiny: Path) -> None:
    frame = pandas.DataFrame([(row["review"], row["stars"]) for row in ROWS])
    run = train({"s": frame}, tmp_path / "run", tiny, text=0, label=1)
    assert run.about["recipe"]["tasks"]["s"]["task"]["label"] == "1"


# ---- warnings -----------------------------------------------------------------------------------------


def test_without_a_bar_problems_of_the_data_are_warnings(tmp_path: Path, tiny: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train({"my task/x": (ROWS, ROWS[:10])}, tmp_path / "run", tiny)
    said = [str(each.message) for each in caught]
    assert any("my_task_x: 10 of 10 dev rows" in each for each in said), said
    assert any("'my task/x' becomes 'my_task_x'" in each for each in said)
    # they point here, not into minbert
    assert all(Path(each.filename) == Path(train.__code__.co_filename) for each in caught)


def test_skipped_rows_are_said_once_in_the_rows_that_were_given(tmp_path: Path, tiny: Path) -> None:
    rows = [*ROWS, *({"review": f"a book {i}", "stars": None} for i in range(6))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train({"s": rows}, tmp_path / "run", tiny)
    assert [each for each in map(str, (each.message for each in caught)) if "skipped" in each] == [
        "s: 6 of 46 rows are skipped: 'stars' is empty"
    ]


def test_a_model_that_is_worse_than_a_control_is_a_warning(tmp_path: Path, tiny: Path) -> None:
    """Texts that say nothing: the model is no better than the most frequent label."""
    rows = [{"review": f"film number {i}", "stars": int(i * 7 % 10 < 3)} for i in range(60)]
    with pytest.warns(
        UserWarning, match=r"^s does not beat the constant answer.* \(accuracy 0\.\d+\)\. \d+ dev rows ca"
    ):
        run = train({"s": rows}, tmp_path / "run", tiny)
    assert run.outcomes["s"].not_beaten and "not_beaten=('the constant answer'" in repr(run.outcomes["s"])
    assert run.outcomes["s"].is_worse
    # a control without any error cannot be beaten, only reached
    assert not replace(run.outcomes["s"], value=1.0, probe=1.0).is_worse


def test_filters_that_python_starts_with_are_plain_texts() -> None:
    from minbert.python.user_warning import fits

    assert fits("__main__", "__main__") and not fits("__main__", "notebook") and fits(None, "notebook")
    assert fits(re.compile("note"), "notebook")


def test_a_warning_is_shown_once_for_each_line_whoever_changes_the_filters() -> None:
    from minbert.python.user_warning import warn_user

    def said(action: Any) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            for _ in range(3):
                with warnings.catch_warnings():
                    # whoever changes a filter makes Python forget what it has shown
                    warnings.filterwarnings("ignore", "something else")
                warn_user(f"{action}: a text of its own")
        return len(caught)

    assert said("default") == 1 and said("always") == 3 and said("ignore") == 0
    with pytest.raises(UserWarning):
        said("error")


def test_long_texts_are_not_cut_in_silence(tmp_path: Path, tiny: Path) -> None:
    rows = [{**row, "review": row["review"] + " word" * 60} for row in ROWS]
    with pytest.warns(UserWarning) as caught:
        train({"s": rows}, tmp_path / "run", tiny, settings={**SHORT, "tasks.s.task.max_length": 32})
    (said,) = {str(each.message) for each in caught if "truncated" in str(each.message)}
    assert said.startswith("s: 100% of the training rows are truncated at 32 tokens; to read more: ")
    chosen = re.search(r'settings=\{"tasks.s.max_length": (\d+)\}', said)
    assert chosen
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*truncated")
        train({"s": rows}, tmp_path / "more", tiny, settings={**SHORT, "tasks.s.max_length": int(chosen[1])})


def test_what_the_user_sets_was_not_found(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*wrong_rows(0), {"review": "a film", "score": None}]
    train({"s": rows}, tmp_path / "run", tiny, progress="bar", settings={**SHORT, "tasks.s.task.range": [0, 20]})
    said = capsys.readouterr()
    assert "range = 0, 20: given in settings" in said.out
    assert "missing = skip: 1 row has no text or no label" in said.out
    assert "1 skipped ('score' is empty)" in said.err


# ---- evaluate -----------------------------------------------------------------------------------------


def test_evaluate_takes_what_train_takes(tmp_path: Path, tiny: Path) -> None:
    run = train({"mood": ROWS}, tmp_path / "run", tiny)
    frame = pandas.DataFrame(ROWS)
    expected = run.evaluate({"mood": frame})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    tuples = [(row["review"], row["stars"]) for row in ROWS]
    for data in (frame, str(tmp_path / "rows.csv"), tuples, {"mood": tuples}):
        assert run.evaluate(data) == expected
    with pytest.warns(UserWarning, match="mood: 1 row skipped: 'stars' is empty"):
        assert run.evaluate([*ROWS, {"review": "a film", "stars": None}]) == expected
    with pytest.raises(minbert.UserError, match=r"^mood, row 0: 'stars' is 7, not one of the labels"):
        run.evaluate([{"review": "a film", "stars": 7}])
    two = train({"mood": ROWS, "close": PAIRS}, tmp_path / "two", tiny)
    for data in (frame, {"review": ["a"]}):
        with pytest.raises(minbert.UserError, match=r"has the tasks mood, close\.\nFor example: run\.evaluate"):
            two.evaluate(data)
    (tmp_path / "run/data/mood-train.jsonl").unlink()
    with pytest.raises(minbert.UserError, match=re.escape('give rows: run.evaluate({"TASK": rows})')):
        run.evaluate()


# ---- Ctrl-C, and leaving a loop -----------------------------------------------------------------------


def test_ctrl_c_without_a_bar_saves_the_run_first(tmp_path: Path, tiny: Path) -> None:
    code = f"""
import minbert, os, signal, threading, time
from pathlib import Path
def interrupt():
    log = Path({str(tmp_path / "run/metrics.jsonl")!r})
    while not log.is_file() or log.stat().st_size < 1000:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    rows, out = {ROWS!r}, {str(tmp_path / "run")!r}
    minbert.train({{"mood": rows}}, out, backbone={str(tiny)!r}, settings={LONG!r}, progress=None)
except KeyboardInterrupt as stopped:
    print(stopped)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert f"everything is saved. Resume with:  minbert.resume('{tmp_path / 'run'}')" in done.stdout
    assert list((tmp_path / "run/checkpoints").iterdir())


def test_who_leaves_the_loop_can_resume(tmp_path: Path, tiny: Path) -> None:
    options: dict[str, Any] = {"backbone": tiny, "settings": {"stages": [{"epochs": 1, "steps_per_epoch": 6}]}}
    whole = minbert.train({"mood": ROWS}, tmp_path / "whole", progress=False, **options)
    for event in minbert.train_events({"mood": ROWS}, tmp_path / "run", **options):
        if isinstance(event, minbert.Step) and event.number == 3:
            break
    assert minbert.Run(tmp_path / "run").state == "interrupted"
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-000003"]
    resumed = minbert.resume(tmp_path / "run", progress=None)
    assert resumed.state == "finished" and resumed.scores == whole.scores
    with pytest.raises(minbert.UserError, match=r"this run is finished\.\nminbert\.Run\(.*\)\.scores has its scores"):
        minbert.resume(tmp_path / "run")


def test_events_are_checked_at_the_call(tmp_path: Path, tiny: Path) -> None:
    with pytest.raises(minbert.UserError, match="there are no rows"):
        minbert.train_events({"s": []}, tmp_path / "run")
    with pytest.raises(minbert.UserError, match="row 0: 'score' is 'bad'"):
        minbert.train_events({"s": wrong_rows(1)}, tmp_path / "run", backbone=tiny, kind="score")
    assert not (tmp_path / "run").exists()


# ---- notebooks ----------------------------------------------------------------------------------------


def test_a_kernel_that_forces_colors_gets_plain_lines(tmp_path: Path, tiny: Path) -> None:
    """ipykernel sets FORCE_COLOR, which rich takes for a terminal."""
    code = f"""
import sys, types
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
import minbert
minbert.train({{"mood": {ROWS!r}}}, {str(tmp_path / "run")!r}, backbone={str(tiny)!r}, settings={SHORT!r})
"""
    colored = {**os.environ, "FORCE_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=colored)
    assert "\x1b" not in done.stdout + done.stderr and "step 1/2" in done.stderr


def test_colors_that_are_forced_bring_no_bar_into_a_file(tmp_path: Path, tiny: Path) -> None:
    code = f"""
import minbert
minbert.train({{"mood": {ROWS!r}}}, {str(tmp_path / "run")!r}, backbone={str(tiny)!r}, settings={SHORT!r})
"""
    colored = {**os.environ, "FORCE_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=colored)
    moves = re.findall(r"\x1b\[\d*[A-LK]|\x1b\[\?25", done.stderr)
    assert not moves and "\x1b[" in done.stdout


def test_ipython_shows_an_error_without_a_traceback() -> None:
    assert minbert.UserError("It is wrong.", "Do this.")._render_traceback_() == ["UserError: It is wrong.\nDo this."]


def test_signals_are_as_before(tmp_path: Path, tiny: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    train({"mood": ROWS}, tmp_path / "run", tiny)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
