"""minbert runs: the runs in a directory, and how each of them ended."""

import json
from pathlib import Path
from typing import Any

import typer

from minbert.cli.console import console, escape_markup, text_table
from minbert.cli.options import JsonOption, RunsFolderArgument


def runs(folder: RunsFolderArgument = Path("runs"), as_json: JsonOption = False) -> None:
    """List runs with their state, scores, time and seed.

    A run that is listed as running, although no process works on it, was killed: `minbert resume RUN` resumes it.

    Example: minbert runs runs
    """
    from minbert.runs.directory import list_runs

    found = list_runs(folder)
    if as_json:
        typer.echo(json.dumps([{"run": str(path)} | about for path, about in found], indent=2))
        return
    made = text_table("run", "state", "overall", "scores", "time", "seed", "started", right=("overall", "time", "seed"))
    for path, about in found:
        made.add_row(escape_markup(path), *run_row(about))
    console.print(made if found else f"No runs in {escape_markup(folder)}.")


def run_row(about: dict[str, Any]) -> list[str]:
    scores = "  ".join(f"{name} {next(iter(each.values())):.3f}" for name, each in about.get("scores", {}).items())
    state = about["state"] + (f": {about['reason']}" if about.get("reason") else "")
    overall = f"{about['overall']:.3f}" if "overall" in about else ""
    seconds = f"{about['seconds']:,.0f} s" if "seconds" in about else ""
    return [escape_markup(state), overall, scores, seconds, str(about.get("seed", "")), str(about.get("started", ""))]
