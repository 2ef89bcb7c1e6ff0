"""Events of a training run -> the finished run, with a progress bar or in silence; Ctrl-C saves it first."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from minbert.cli.console import console
from minbert.cli.interrupts import StopSignal
from minbert.cli.outcome_table import show_task_outcomes
from minbert.cli.training_progress import watch_training
from minbert.python.run_warnings import data_warnings, outcome_warnings
from minbert.python.user_warning import warn_user
from minbert.python.wording import Words, in_python
from minbert.runs.events import Event, Finished, Started, Stopped
from minbert.runs.fit import StopRequest


def train_to_finish(
    begin: Callable[[StopRequest], Iterator[Event]], out: Path, progress: bool, words: Words = in_python
) -> Finished:
    """Train until the end. Ctrl-C, or "interrupt" in a notebook, ends the current step and saves everything.

    `words`: how messages are worded.
    """
    stop_signal = StopSignal()
    events = worded_events(begin(stop_signal), words)
    # only the main thread receives signals
    listens = threading.current_thread() is threading.main_thread()
    try:
        if progress:
            return watch_training(events, stop_signal if listens else None)
        return finish_silently(events, stop_signal if listens else None)
    except Stopped as stopped:
        if stopped.signal != signal.SIGINT:
            raise SystemExit(128 + stopped.signal) from None
        raise KeyboardInterrupt(
            f"Stopped after step {stopped.step:,}; everything is saved. Resume with:  minbert.resume({str(out)!r})"
        ) from None


def finish_silently(
    events: Iterator[Event],
    stop_signal: StopSignal | None = None,
    at_start: Callable[[Started], list[str]] = data_warnings,
    at_end: Callable[[Finished], list[str]] = outcome_warnings,
) -> Finished:
    """What is wrong with the data and with the result becomes warnings of Python: `at_start` and `at_end` word it."""
    with ExitStack() as listening:
        for event in events:
            if isinstance(event, Finished):
                for warning in at_end(event):
                    warn_user(warning)
                return event
            if isinstance(event, Started):
                if stop_signal is not None:
                    listening.enter_context(stop_signal.listening())
                for warning in at_start(event):
                    warn_user(warning)
    raise AssertionError("a training run ends with Finished")


def worded_events(events: Iterator[Event], words: Words = in_python) -> Iterator[Event]:
    """The events, with messages in Python's words."""
    for event in events:
        if isinstance(event, Started):
            notes, warnings, settings = (
                tuple(map(words, each)) for each in (event.notes, event.warnings, event.settings)
            )
            findings = tuple(replace(each, message=words(each.message)) for each in event.findings)
            event = replace(event, notes=notes, warnings=warnings, settings=settings, findings=findings)
        yield event


def show_scores(finished: Finished, words: Words = in_python) -> None:
    with console.worded(words):
        show_task_outcomes(finished.outcomes, finished.overall)
