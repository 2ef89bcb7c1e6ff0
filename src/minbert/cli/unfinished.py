"""A warning about the model of a run that was not finished."""

from pathlib import Path

from minbert.cli.console import as_typed, escape_markup, shell_path, stderr


def warn_if_unfinished(run: Path, missing: str = "") -> None:
    """`missing`: what the command cannot show of such a run, as a sentence."""
    from minbert.runs.directory import is_locked, read_state

    state = read_state(run)
    if state in ("", "finished"):
        return
    running = state == "running" and is_locked(run)
    what = "is still in training" if running else "was not finished"
    more = f" {missing}" if missing else ""
    stderr.print(f"[yellow]warning:[/] {escape_markup(run)} {what}: this is its best model so far.{more}")
    if not running:
        stderr.print(as_typed(f"Finish it:  minbert resume {shell_path(run)}"), soft_wrap=True)
