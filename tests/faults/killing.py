"""python -m tests.faults.killing RUN INPUT OUTPUT TIMES: a job killed at many instants, and resumed each time.

The model is loaded once. Each job is a child process, which kills itself before it executes the n-th line of the code
that writes. Prints one line of JSON per instant.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from minbert import files as durable
from minbert.data import chunks
from minbert.inference import journal, resumable_job
from minbert.inference.predict_file import FilePrediction
from minbert.inference.predictor import Predictor
from minbert.inference.resumable_job import partial_folder, rejects_of
from tests.faults.critic import critic_of

WRITES = {module.__file__ for module in (durable, resumable_job, journal)}
ROWS = 40


class Clock:
    """Counts the lines of the code that writes; kills this process before the n-th."""

    def __init__(self, last: int | None = None) -> None:
        self.lines, self.last = 0, last

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Clock | None":
        if frame.f_code.co_filename not in WRITES:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def predict(predictor: Predictor, source: Path, output: Path, clock: Clock, resume: bool) -> None:
    sys.settrace(clock)
    for _ in FilePrediction(predictor.members, ["mood", "stars"], source, output, resume=resume):
        pass
    sys.settrace(None)


def in_child(work: Callable[[], None]) -> int:
    """Do it in a process of its own; returns its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def main(run: Path, source: Path, output: Path, times: int) -> None:
    torch.set_num_threads(1)
    chunks.CHUNK_ROWS = ROWS
    predictor = critic_of(run)
    whole = output.with_name(f"whole-{output.name}")
    count = whole.with_name("count")

    def uninterrupted() -> None:
        clock = Clock()
        predict(predictor, source, whole, clock, False)
        count.write_text(str(clock.lines))

    assert in_child(uninterrupted) == 0
    lines = int(count.read_text())
    # evenly over all of it, and every second line of its end, where the files are put in their places
    for instant in sorted({*range(1, lines + 1, max(1, lines // times)), *range(lines - 45, lines + 1, 2)}):
        ends = [in_child(lambda n=instant: predict(predictor, source, output, Clock(n), False))]  # type: ignore[misc]
        # killed once more, somewhere in the rest; then to the end
        for last in (instant // 3 + 20, None):
            if not output.exists() or partial_folder(output).exists():
                ends += [in_child(lambda n=last: predict(predictor, source, output, Clock(n), True))]  # type: ignore[misc]
        same = output.exists() and output.read_bytes() == whole.read_bytes()
        rejects = [rejects_of(path).read_bytes() for path in (output, whole)]
        left = [
            path.name for path in output.parent.glob(f"{output.name}.*") if not path.name.endswith((".done", "jsonl"))
        ]
        print(json.dumps({"instant": instant, "ends": ends, "same": same and rejects[0] == rejects[1], "left": left}))
        for path in output.parent.glob(f"{output.name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), int(sys.argv[4]))
