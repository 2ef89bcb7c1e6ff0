"""python -m tests.faults.killed_training RECIPE FOLDER TIMES: trainings killed at instants all over them, then resumed.

Everything is imported once; each training is a child of its own, which kills itself before it executes the n-th line of
the code that trains, measures and writes. Prints a line of JSON for each instant.
"""

import json
import os
import random
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from minbert import files
from minbert.config.loading import read_recipe
from minbert.inference import saved_model
from minbert.runs import checkpoint, directory, fit, metrics_log, run
from minbert.runs.checkpoint import CheckpointInterval
from minbert.runs.run import resume_run, start_run
from minbert.training import loop
from tests.faults.hashes import run_hash
from tests.faults.killing import in_child

WATCHED = {module.__file__ for module in (checkpoint, files, fit, metrics_log, run, directory, saved_model, loop)}


class Clock:
    """Counts the lines of the watched code from the moment the run has its recipe; kills before the n-th."""

    def __init__(self, out: Path, last: int | None = None) -> None:
        self.out, self.lines, self.last, self.counting = out, 0, last, False
        self.where = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Clock | None":
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            # before that there is nothing to resume
            self.counting = self.counting or (self.out / "recipe.toml").is_file()
            self.lines += self.counting
            if self.counting and self.lines == self.last:
                place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                (self.out.parent / "killed-at").write_text(place, encoding="utf-8")
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def train(recipe: str, out: Path, last: int | None = None, resume: bool = False) -> None:
    torch.set_num_threads(1)
    clock = Clock(out, last)
    every = CheckpointInterval(steps=2)
    sys.settrace(clock)
    for _ in resume_run(out, every=every) if resume else start_run(read_recipe(recipe), out, every=every):
        pass
    sys.settrace(None)
    (out.parent / "lines").write_text(str(clock.lines), encoding="utf-8")


def main() -> None:
    recipe, folder, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    whole, killed = folder / "whole", folder / "killed"
    assert in_child(lambda: train(recipe, whole)) == 0
    expected, lines = run_hash(whole), int((folder / "lines").read_text("utf-8"))
    draw = random.Random(recipe)
    for _ in range(times):
        shutil.rmtree(killed, ignore_errors=True)
        last, later = draw.randint(1, lines), draw.randint(1, lines)
        ended = in_child(lambda last=last: train(recipe, killed, last))  # type: ignore[misc]
        # and once more while it resumes
        again = in_child(lambda later=later: train(recipe, killed, later, resume=True))  # type: ignore[misc]
        finished = json.loads((killed / "run.json").read_text("utf-8"))["state"] == "finished"
        resumed = 0 if finished else in_child(lambda: train(recipe, killed, resume=True))
        place = (folder / "killed-at").read_text("utf-8")
        same = resumed == 0 and run_hash(killed) == expected
        print(json.dumps({"line": last, "place": place, "ended": ended, "again": again, "same": same}), flush=True)


if __name__ == "__main__":
    main()
