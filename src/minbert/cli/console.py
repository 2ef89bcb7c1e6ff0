"""What all commands share on the screen: errors, tables, progress bars, commands to copy."""

import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from minbert.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Progress

console = Console(highlight=False)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)


def show_error(error: UserError) -> None:
    stderr.print("[bold red]error:[/] ", end="")
    stderr.print(error.problem, markup=False)
    if error.next_step:
        stderr.print(error.next_step, style="dim", markup=False)


def escape_markup(value: object) -> str:
    """The user's text as it is: rich must not read its square brackets as styles."""
    return escape(str(value))


def shell_path(path: Path) -> str:
    """A path to paste into a shell."""
    return escape_markup(shlex.quote(str(path)))


def command_line(*more: str, without: Collection[str] = ()) -> str:
    """This command as the user typed it, without some of its options and with some more."""
    words = [word for word in sys.argv[1:] if word not in without]
    return shlex.join(["minbert", *words, *more])


def text_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without lines; the columns in `right` are right-aligned."""
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
    """The main metric of each task; `before`: the scores of the untrained model."""
    made = text_table("task", "metric", *(["untrained"] if before else []), "dev", right=("untrained", "dev"))
    for name, metrics in scores.items():
        metric, value = next(iter(metrics.items()))
        made.add_row(name, metric, *([f"{before[name][metric]:.3f}"] if before else []), f"[bold]{value:.3f}")
    made.add_row("overall", "", *([f"{before_overall:.3f}"] if before else []), f"[bold]{overall:.3f}")
    return made


def progress_bar(unit: str = "") -> "Progress":
    """A bar with elapsed and remaining time on standard error, removed at the end; it counts steps, or `bytes`."""
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
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("remaining"),
        TextColumn("{task.fields[note]}"),
        console=stderr,
        transient=True,
    )
