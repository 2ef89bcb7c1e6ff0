"""Ctrl-C and SIGTERM during training: finish the current step, save everything, show how to resume."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from minbert.cli.console import as_typed, stderr

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignal:
    """The signal received so far; training calls this after each step. A second signal exits at once."""

    def __init__(self) -> None:
        self.received: int | None = None

    def __call__(self) -> int | None:
        return self.received

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            sys.exit(128 + number)
        self.received = number
        again = "Press Ctrl-C again" if number == signal.SIGINT else "Send the signal again"
        stderr.print(f"Stopping after this step to save everything. {again} to stop at once.")

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def show_stopped(out: Path, step: int) -> None:
    stderr.print(f"Stopped after step {step:,}; everything is saved.", markup=False)
    show_resume(out)


def show_stopped_at_once(out: Path) -> None:
    stderr.print("Stopped at once.")
    show_resume(out, " from the last checkpoint")


def show_resume(out: Path, start: str = "") -> None:
    command = as_typed(f"minbert resume {shlex.quote(str(out))}")
    stderr.print(f"Resume{start} with:  {command}", markup=False, soft_wrap=True)
