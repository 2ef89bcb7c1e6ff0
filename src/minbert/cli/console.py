"""What the commands share on the screen: errors, tables of scores, progress bars."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minbert.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def command_line() -> str:
    """The command that was entered, as text."""
    return shlex.join(["minbert", *sys.argv[1:]])


def show_error(wrong: UserError) -> None:
    errors.print("[bold red]error:[/] ", end="")
    errors.print(wrong.problem, markup=False)
    if wrong.next_step:
        errors.print(wrong.next_step, style="dim", markup=False)


def plain(value: object) -> str:
    """Text of the user's as it is: square brackets are not ours to read as styles."""
    return escape(str(value))


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A plain table; the columns in `right` hold numbers."""
    made = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made


def score_table(
    scores: Mapping[str, Mapping[str, float]],
    overall: float,
    before: Mapping[str, Mapping[str, float]] | None = None,
    before_overall: float = 0.0,
) -> Table:
    """The main metric of each task, with the untrained model's beside it where that is known."""
    made = table("task", "metric", *(["untrained"] if before else []), "dev", right=("untrained", "dev"))
    for name, found in scores.items():
        metric, value = next(iter(found.items()))
        made.add_row(name, metric, *([f"{before[name][metric]:.3f}"] if before else []), f"[bold]{value:.3f}")
    made.add_row("overall", "", *([f"{before_overall:.3f}"] if before else []), f"[bold]{overall:.3f}")
    return made


def progress(unit: str = "") -> "Progress":
    """A bar with an estimate of the time left, on standard error, gone when it is done; counts, or `bytes`."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        DownloadColumn() if unit == "bytes" else MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("{task.fields[note]}"),
        console=errors,
        transient=True,
    )
