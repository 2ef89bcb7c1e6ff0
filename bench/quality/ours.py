"""Cut data sets -> the predictions of minbert, through its command line as a user would."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.quality.cells import Answer
from bench.quality.peers import Job
from bench.quality.sets import Cut

COMMAND = (sys.executable, "-m", "minbert")


def minbert(job: Job) -> dict[str, Answer]:
    """`minbert train FILE... --out RUN` with its defaults; dev rows of the benchmark are only predicted."""
    run = job.work / "run"
    call(
        "train",
        *(cut.train for cut in job.cuts),
        "--out",
        run,
        "--seed",
        job.seed,
        "--set",
        f"backbone={job.backbone}",
        "--force",
    )
    state = json.loads((run / "run.json").read_text(encoding="utf-8"))
    steps = state.get("cost", {}).get("steps")
    tasks = tasks_by_label(run)
    return {cut.name: Answer(predict(cut, run, tasks[cut.set.label], job.work), steps) for cut in job.cuts}


def call(*words: object) -> str:
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True)
    sys.stderr.write(done.stdout + done.stderr)
    if done.returncode:
        raise RuntimeError(f"minbert {words[0]} ended with {done.returncode}: {done.stderr.strip()[:500]}")
    return done.stdout


def tasks_by_label(run: Path) -> dict[str, str]:
    """The name of the task that learns each label column."""
    found = {}
    for path in (run / "tasks").rglob("*.toml"):
        found[tomllib.loads(path.read_text(encoding="utf-8"))["label"]] = path.stem
    return found


def predict(cut: Cut, run: Path, task: str, work: Path) -> list[Any]:
    output = work / f"{cut.name}.jsonl"
    call("predict", run, task, "--input", cut.dev, "--output", output, "--force")
    with output.open(encoding="utf-8") as file:
        found = [json.loads(line)["prediction"] for line in file]
    if len(found) != len(cut.gold):
        raise RuntimeError(f"{len(found)} predictions for {len(cut.gold)} dev rows of {cut.name}")
    return [float(value) if cut.set.scored else as_class(value, cut.classes) for value in found]


def as_class(value: Any, classes: Sequence[str]) -> str:
    """A prediction as one of the classes as written; a number that is none of them becomes the nearest."""
    if isinstance(value, bool) or str(value) in classes:
        return str(value)
    return min(classes, key=lambda name: abs(float(name) - float(value)))
