"""minbert runs: the runs in a directory, and how each of them ended."""

from pathlib import Path
from typing import Any

from minbert.cli.console import console, escape_markup, shell_path, show_hint, show_json, text_table
from minbert.cli.options import JsonOption, RunsFolderArgument
from minbert.errors import UserError

# states of a run that `minbert resume` continues
RESUMABLE = ("interrupted", "killed")


def runs(folder: RunsFolderArgument = Path("runs"), as_json: JsonOption = False) -> None:
    """List runs with their state, scores, time and seed.

    A run that was interrupted or killed is resumed by `minbert resume RUN`.

    Example: minbert runs runs
    """
    from minbert.runs.directory import list_runs

    if not folder.is_dir():
        raise UserError(f"{folder}: no such directory.", "`minbert train` makes runs; name the directory they are in.")
    found = list_runs(folder)
    if as_json:
        show_json([{"run": str(path)} | about for path, about in found])
        return
    numbers = ("overall", "time", "seed")
    made = text_table("run", "state", "overall", "time", "seed", "started", "scores", right=numbers, wrap=("scores",))
    for path, about in found:
        made.add_row(escape_markup(path), *run_row(about))
    console.print(made if found else f"No runs in {escape_markup(folder)}.")
    for path, about in found:
        if about["state"] in RESUMABLE:
            show_hint(f"Resume it:  minbert resume {shell_path(path)}")


def run_row(about: dict[str, Any]) -> list[str]:
    scores = "  ".join(f"{name} {next(iter(each.values())):.3f}" for name, each in about.get("scores", {}).items())
    reason = f"{about['reason']}  " if about.get("reason") else ""
    overall = f"{about['overall']:.3f}" if "overall" in about else ""
    seconds = f"{about['seconds']:,.0f} s" if "seconds" in about else ""
    started = str(about.get("started", ""))[:16]
    return [about["state"], overall, seconds, str(about.get("seed", "")), started, escape_markup(reason + scores)]
