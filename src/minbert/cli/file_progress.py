"""A file being answered, on the screen: a bar with an estimate, and the rate; in a log file, a line now and then."""

import shlex
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import errors, progress

if TYPE_CHECKING:
    from minbert.inference.job import Job, Progress

# a log file gets a line this often
SECONDS = 30


def watch_file(job: "Job[Any]") -> "Progress":
    """Do all of it; returns how much there was. Interrupted, it says how to go on."""
    try:
        return shown(job)
    except (KeyboardInterrupt, SystemExit) as stopped:
        words = [word for word in sys.argv[1:] if word not in ("--force", "--resume")]
        errors.print(f"Stopped. Go on with:  {shlex.join(['minbert', *words, '--resume'])}", markup=False)
        if isinstance(stopped, SystemExit):
            raise
        raise typer.Exit(128 + signal.SIGINT) from None


def shown(job: "Job[Any]") -> "Progress":
    began = told = time.monotonic()
    live = sys.stderr.isatty()
    with progress(job.reader.unit) as bar:
        answering = bar.add_task("answering", total=None, note="")
        for event in job:
            now = time.monotonic()
            rate = (event.rows - event.before) / (now - began) if event.rows > event.before else 0.0
            note = f"{event.rows:,} rows, {rate:,.0f} a second" if rate else "finding the place" * bool(event.before)
            note += f", {event.rejected:,} rejected" if event.rejected else ""
            bar.update(answering, completed=event.done, total=event.total or None, note=note)
            if not live and now - told > SECONDS:
                told = now
                errors.print(f"  {event.done / max(1, event.total):.0%}: {note}")
    return event
