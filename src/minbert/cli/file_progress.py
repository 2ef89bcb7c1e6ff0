"""Progress of a file being processed: a bar with remaining time and rate; in a log file, an occasional line."""

import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.console import as_typed, command_line, progress_bar, stderr

if TYPE_CHECKING:
    from minbert.inference.resumable_job import Job, Progress

# seconds between two lines in a log file
LOG_INTERVAL = 30


def watch_file(job: "Job[Any]") -> "Progress":
    """Run the job to its end and return the final counts. If interrupted, show how to resume."""
    try:
        return show_file_progress(job)
    except (KeyboardInterrupt, SystemExit) as stopped:
        again = command_line("--resume", without=("--force", "--resume"))
        stderr.print(f"Stopped. Resume with:  {as_typed(again)}", markup=False, soft_wrap=True)
        if isinstance(stopped, SystemExit):
            raise
        raise typer.Exit(128 + signal.SIGINT) from None


def show_file_progress(job: "Job[Any]") -> "Progress":
    started = logged = time.monotonic()
    live = sys.stderr.isatty()
    with progress_bar(job.reader.unit) as bar:
        bar_task = bar.add_task("processing", total=None, note="")
        for event in job:
            now = time.monotonic()
            note = file_note(event, now - started)
            bar.update(bar_task, completed=event.done, total=event.total or None, note=note)
            if not live and now - logged > LOG_INTERVAL:
                logged = now
                stderr.print(f"  {event.done / max(1, event.total):.0%}: {note}")
    return event


def file_note(event: "Progress", seconds: float) -> str:
    """Rows, rows per second, and rejected rows; a resumed job first reads past the rows it finished earlier."""
    new_rows = event.rows - event.before
    if new_rows > 0:
        note = f"{event.rows:,} rows, {new_rows / seconds:,.0f} per second"
    else:
        note = "skipping finished rows" if event.before else ""
    return f"{note}, {event.rejected:,} rejected" if event.rejected else note
