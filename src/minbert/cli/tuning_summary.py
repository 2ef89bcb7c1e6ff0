"""The results of a search for settings on the screen."""

from pathlib import Path
from typing import TYPE_CHECKING

from minbert.cli.console import console, escape_markup, shell_path, show_hint, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from minbert.comparison.tuning_results import TuningResults


def show_tuning(results: "TuningResults", best: Path | None) -> None:
    from minbert.report.tuning_report import cost_line, failure_lines

    console.print(setting_table(results))
    for line in failure_lines(results):
        console.print(f"[red]no score[/]: {escape_markup(line)}")
    first, *others = results.decision()
    console.print(f"[bold]{escape_markup(first)}[/]")
    for line in others:
        console.print(escape_markup(line))
    for line in results.warnings:
        console.print(f"[yellow]Note[/]: {escape_markup(line)}")
    console.print(cost_line(results))
    console.print(
        f"Overall score, mean ± standard error over {results.folds} folds of the training rows; dev rows take no part.",
        style="dim",
    )
    if best is not None:
        where = shell_path(best)
        console.print(f"Recipe with the best settings: {where}. All trials: {shell_path(best.with_name('report.md'))}")
        show_hint(f"Train it:  minbert train {where} --out RUN")


def setting_table(results: "TuningResults") -> "Table":
    """Best first: one column per setting, the score, and the seconds of training of all folds.

    The scores of each task are in report.md: with them, few tables would fit into 80 columns.
    """
    from minbert.report.tuning_report import setting_cells, setting_note

    names = [path.rpartition(".")[2] for path in results.paths]
    shown = [name if names.count(name) == 1 else path for name, path in zip(names, results.paths, strict=True)]
    numbers = ("overall", "seconds")
    made = text_table(*shown, *numbers, "note", right=numbers)
    for each in results.ranked:
        values = [escape_markup(value) for _, value in each.candidate.settings]
        made.add_row(*values, *setting_cells(each, []), setting_note(each, results))
    return made
