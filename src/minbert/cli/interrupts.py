"""Ctrl-C and SIGTERM while training: the step that is going ends, everything is saved, the next command is named."""

import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from minbert.cli.console import errors

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Called after each step by the training, it tells the signal that came. A second one does not wait."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> int | None:
        return self.signal

    def note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            sys.exit(128 + number)
        self.signal = number
        errors.print("Stopping after this step, to save it; once more to stop at once.")

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.note) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def saved_and_stopped(out: Path, step: int) -> None:
    where = shlex.quote(str(out))
    errors.print(f"Stopped after step {step:,}; everything is saved. Go on with:  minbert resume {where}", markup=False)
