"""Comparisons whose driver, worker or disk fails: nothing acknowledged is lost, and what failed is shown."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minbert.comparison.results import TrialCost, TrialResult
from minbert.comparison.store import Store

COST = TrialCost(1.5, 10, 1000, 2000, 1000, 3e8, 9e7)
WRITER = """
import sys
from pathlib import Path
from minbert.comparison.results import TrialCost, TrialResult
from minbert.comparison.store import Store

store = Store(Path(sys.argv[1]))
for number in range(1000):
    key = f"{sys.argv[2]}-{number}"
    store.put(TrialResult(key, "a", number, "finished", "", {"t": {"accuracy": number / 1000}}, number / 1000,
                     TrialCost(1, 2, 3, 4, 5, 6, 7), key))
    print(key, flush=True)
"""


def minbert(*words: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "minbert", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def trials(folder: Path) -> dict[str, dict[str, object]]:
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("trials/*/run.json")}


def finished(folder: Path) -> int:
    return sum(about["state"] == "finished" for about in trials(folder).values())


def small(tiny: Path, *more: object) -> list[object]:
    """Two recipes of the demo's tasks, two seeds, a few steps."""
    words: list[object] = ["compare", "demo", "papers-like.toml", "--seeds", 2, "--steps", 6, "--backbone", tiny]
    words += ["--jobs", 2]
    return [*words, *more]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    other = 'extends = "demo"\n\n[optimizer]\nlearning_rate = 1e-3\n'
    (tmp_path / "papers-like.toml").write_text(other, encoding="utf-8")
    return tmp_path


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.sqlite")
    good = TrialResult("k", "a", 3, "finished", "", {"sst": {"accuracy": 0.5, "f1": 0.25}}, 0.5, COST, "trials/k")
    bad = TrialResult("l", "a", 4, "failed", "loss is not a number", run="trials/l")
    store.put(bad)
    store.put(good)
    store.put(good)
    assert Store(tmp_path / "results.sqlite").results() == {"k": good, "l": bad}


def test_a_damaged_file_says_what_to_do(here: Path, tiny: Path) -> None:
    (here / "cmp").mkdir()
    (here / "cmp" / "results.sqlite").write_bytes(b"no database" * 1000)
    ended = minbert(*small(tiny, "--out", "cmp"))
    _, said = ended.communicate()
    assert ended.returncode == 2
    assert "results.sqlite: file is not a database" in said
    assert "Remove it" in said


def test_14_eight_writers_and_kills_lose_no_acknowledged_row(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    Store(path)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(8)
    ]
    time.sleep(3)
    chance = random.Random(0)
    acknowledged = []
    for writer in writers:
        time.sleep(chance.random() / 5)
        writer.kill()
    for writer in writers:
        out, _ = writer.communicate()
        # the last line may be half of one
        acknowledged += [line for line in out.split("\n")[:-1] if line]
    assert len(acknowledged) > 50, "they hardly began"
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    assert set(acknowledged) <= set(Store(path).results())


@pytest.mark.slow
def test_12_a_killed_driver_resumes_and_trains_each_trial_once(here: Path, tiny: Path) -> None:
    words = small(tiny, "--out", "cmp")
    for _ in range(3):
        driver = minbert(*words, start_new_session=True)
        time.sleep(1.0)
        end = time.monotonic() + 60
        before = finished(here / "cmp")
        while driver.poll() is None and time.monotonic() < end:
            if finished(here / "cmp") > before:
                break
            time.sleep(0.05)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    driver = minbert(*words)
    _, err = driver.communicate()
    assert driver.returncode == 0, err
    rows = Store(here / "cmp" / "results.sqlite").results()
    assert len(rows) == 4
    assert {row.state for row in rows.values()} == {"finished"}
    assert sorted((row.label, row.seed) for row in rows.values()) == [
        ("demo", 0), ("demo", 1), ("papers-like.toml", 0), ("papers-like.toml", 1)
    ]  # fmt: skip
    # the same trials, trained without interruption elsewhere, have the same scores
    other = minbert(*small(tiny, "--out", "again"))
    other.communicate()
    again = Store(here / "again" / "results.sqlite").results()
    assert {key: row.scores for key, row in again.items()} == {key: row.scores for key, row in rows.items()}
    # called once more, it trains nothing
    written = {path: path.stat().st_mtime_ns for path in here.glob("cmp/trials/*/run.json")}
    last = minbert(*words)
    last.communicate()
    assert {path: path.stat().st_mtime_ns for path in here.glob("cmp/trials/*/run.json")} == written
    # even if the table is lost: it is made again from the run.json files
    for path in here.glob("cmp/results.sqlite*"):
        path.unlink()
    minbert(*words).communicate()
    assert Store(here / "cmp" / "results.sqlite").results() == rows
    assert {path: path.stat().st_mtime_ns for path in here.glob("cmp/trials/*/run.json")} == written


def test_13_a_failed_trial_is_shown_and_the_ranking_says_incomplete(here: Path, tiny: Path) -> None:
    # a step size at which the loss is no number soon
    wild = 'extends = "demo"\n\n[optimizer]\nlearning_rate = 1e30\nhead_learning_rate = 1e30\nmax_grad_norm = 0.0\n'
    (here / "wild.toml").write_text(wild, encoding="utf-8")
    ended = minbert("compare", "demo", "wild.toml", "--seeds", 1, "--steps", 6, "--backbone", tiny, "--out", "cmp")
    out, err = ended.communicate()
    assert ended.returncode == 1, err
    assert "wild, seed 0 failed" in out
    assert "Incomplete" in out
    page = (here / "cmp" / "report.html").read_text(encoding="utf-8")
    assert "ncomplete" in page
    assert "wild.toml" in page
    states = {row.label: row.state for row in Store(here / "cmp" / "results.sqlite").results().values()}
    assert states == {"demo": "finished", "wild.toml": "failed"}


def test_a_killed_worker_is_a_failed_trial_and_the_others_continue(here: Path, tiny: Path) -> None:
    driver = minbert(*small(tiny, "--out", "cmp", "--steps", 60))
    end = time.monotonic() + 60
    while not trials(here / "cmp") and time.monotonic() < end:
        time.sleep(0.05)
    about = next(iter(trials(here / "cmp").values()))
    os.kill(int(str(about["pid"])), signal.SIGKILL)
    out, _ = driver.communicate()
    assert driver.returncode == 1
    assert "its process was killed (signal 9)" in out
    states = [row.state for row in Store(here / "cmp" / "results.sqlite").results().values()]
    assert sorted(states) == ["failed", "finished", "finished", "finished"]
    # the same command tries it again
    again = minbert(*small(tiny, "--out", "cmp", "--steps", 60))
    again.communicate()
    assert again.returncode == 0


def test_an_interrupted_driver_lets_its_trials_save_themselves(here: Path, tiny: Path) -> None:
    driver = minbert(*small(tiny, "--out", "cmp", "--steps", 400))
    end = time.monotonic() + 60
    while not list(here.glob("cmp/trials/*/metrics.jsonl")) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1.0)
    driver.send_signal(signal.SIGTERM)
    _, err = driver.communicate()
    assert driver.returncode == 143
    assert "Run the same command again to resume" in err
    assert {str(about["state"]) for about in trials(here / "cmp").values()} == {"interrupted"}
    assert list(here.glob("cmp/trials/*/checkpoints/step-*"))
