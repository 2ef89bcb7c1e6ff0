"""minbert runs: the runs below a folder, and how each of them ended."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from minbert.cli.console import console, plain, table
from minbert.cli.options import AsJson


def runs(
    folder: Annotated[Path, typer.Argument(help="Where to look, at any depth.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """List runs: state, scores, time, seed.

    A run that says it is running although nobody works on it was killed: `minbert resume RUN` goes on with it.

    Example: minbert runs runs
    """
    from minbert.runs.directory import list_runs

    found = list_runs(folder)
    if as_json:
        typer.echo(json.dumps([{"run": str(path)} | about for path, about in found], indent=2))
        return
    shown = table("run", "state", "overall", "scores", "time", "seed", "started", right=("overall", "time", "seed"))
    for path, about in found:
        shown.add_row(plain(path), *row(about))
    console.print(shown if found else f"No runs below {plain(folder)}.")


def row(about: dict[str, Any]) -> list[str]:
    scores = "  ".join(f"{name} {next(iter(found.values())):.3f}" for name, found in about.get("scores", {}).items())
    state = about["state"] + (f": {about['reason']}" if about.get("reason") else "")
    overall = f"{about['overall']:.3f}" if "overall" in about else ""
    seconds = f"{about['seconds']:,.0f} s" if "seconds" in about else ""
    return [plain(state), overall, scores, seconds, str(about.get("seed", "")), str(about.get("started", ""))]
