"""minbert check: what can be known about a recipe and its data before training."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import console, escape_markup, stderr, text_table
from minbert.cli.options import DataRootOption, JsonOption, RecipeArgument, SetOption, SkipBadRowsOption
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from minbert.analysis.data_check import DataReport, SplitReport, TaskLeak


def check(
    recipe: RecipeArgument,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a recipe and its data without training.

    Reads every file, builds the model, and reports rows, label balance, text lengths, truncation, duplicates, and dev
    texts that also occur in the training data of any task.

    Example: minbert check baseline --data-root data
    """
    from minbert.analysis.data_check import check_recipe
    from minbert.config.loading import read_recipe
    from minbert.data.rejects import BadRows
    from minbert.data.source import DataSource

    chosen = read_recipe(recipe, set_ or [])
    try:
        with stderr.status("reading and comparing all rows"):
            report = check_recipe(chosen, DataSource(data_root, skip_bad_rows))
    except BadRows as bad:
        for reject in bad.rejects:
            console.print(str(reject), markup=False, soft_wrap=True)
        raise UserError(f"{len(bad.rejects):,} bad rows.", bad.next_step) from None
    if as_json:
        typer.echo(json.dumps(asdict(report), indent=2))
    else:
        show_data_report(report)


def show_data_report(report: "DataReport") -> None:
    console.print(split_table(report.splits))
    console.print()
    console.print(label_table(report.splits))
    console.print()
    leaks = [leak for leak in report.leaks if leak.examples or leak.texts]
    if leaks:
        console.print(leak_table(leaks))
        console.print("Scores on rows that were trained on are too high, above all on whole examples.", style="dim")
    else:
        console.print("No dev text occurs in the training data.")
    leaked = f", but {report.leaked_rows:,} dev rows occur in the training data" if report.leaked_rows else ""
    console.print(f"The recipe and its data are valid{leaked}. Training takes {report.steps:,} steps.")


def split_table(splits: "Sequence[SplitReport]") -> "Table":
    numbers = ("rows", "skipped", "duplicates", "mean tokens", "max", "limit", "truncated")
    made = text_table("task", "split", *numbers, right=numbers)
    for split in splits:
        made.add_row(
            f"[bold]{split.task}[/]",
            split.split,
            f"{split.rows:,}",
            f"{split.skipped:,}",
            f"{split.duplicates:,}",
            f"{split.mean_tokens:.1f}",
            f"{split.most_tokens:,}",
            f"{split.max_length:,}",
            f"{split.truncated:,}",
        )
    return made


def label_table(splits: "Sequence[SplitReport]") -> "Table":
    made = text_table("task", "split", "labels")
    for split in splits:
        labels = "  ".join(f"{escape_markup(label)} {fraction:.1%}" for label, fraction in split.balance.items())
        made.add_row(f"[bold]{split.task}[/]", split.split, labels)
    return made


def leak_table(leaks: "Sequence[TaskLeak]") -> "Table":
    made = text_table(
        "dev rows of", "in training data of", "whole examples", "single texts", "example",
        right=("whole examples", "single texts"),
    )  # fmt: skip
    for leak in leaks:
        made.add_row(leak.dev, leak.train, f"{leak.examples:,}", f"{leak.texts:,}", escape_markup(leak.sample))
    return made
