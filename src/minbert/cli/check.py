"""minbert check: everything that can be known about the data before training."""

import json
from dataclasses import asdict

import typer

from minbert.cli.console import console, errors, plain, table
from minbert.cli.options import AsJson, DataRoot, RecipeName, Set, SkipBadRows
from minbert.errors import UserError


def check(
    recipe: RecipeName,
    data_root: DataRoot = None,
    set_: Set = None,
    skip_bad_rows: SkipBadRows = False,
    as_json: AsJson = False,
) -> None:
    """Check a recipe and its data without training.

    Reads every file strictly, builds the model, and tells rows, label balance, lengths and truncation,
    duplicates, and dev texts that also stand in training data, across all tasks.

    Example: minbert check baseline --data-root data
    """
    from minbert.analysis.data_check import check_recipe
    from minbert.config.loading import read_recipe
    from minbert.data.rejects import BadRows
    from minbert.data.source import DataSource

    chosen = read_recipe(recipe, set_ or [])
    try:
        with errors.status("reading and comparing all rows"):
            found = check_recipe(chosen, DataSource(data_root, skip_bad_rows))
    except BadRows as bad:
        for reject in bad.rejects:
            console.print(str(reject), markup=False, soft_wrap=True)
        raise UserError(f"{len(bad.rejects):,} bad rows.", bad.next_step) from None
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    shown = table("task", "part", "rows", "left out", "copies", "tokens: mean", "most", "cut at", "cut",
                  right=("rows", "left out", "copies", "tokens: mean", "most", "cut at", "cut"))  # fmt: skip
    for part in found.parts:
        shown.add_row(
            f"[bold]{part.task}[/]", part.part, f"{part.rows:,}", f"{part.skipped:,}", f"{part.duplicates:,}",
            f"{part.mean_tokens:.1f}", f"{part.most_tokens:,}", f"{part.max_length:,}", f"{part.truncated:,}",
        )  # fmt: skip
    console.print(shown)
    console.print()
    labels = table("task", "part", "labels")
    for part in found.parts:
        shares = "  ".join(f"{plain(label)} {share:.1%}" for label, share in part.balance.items())
        labels.add_row(f"[bold]{part.task}[/]", part.part, shares)
    console.print(labels)
    console.print()
    leaks = [leak for leak in found.leaks if leak.examples or leak.texts]
    if leaks:
        shown = table("dev rows of", "found in training of", "whole examples", "single texts", "for example",
                      right=("whole examples", "single texts"))  # fmt: skip
        for leak in leaks:
            shown.add_row(leak.dev, leak.train, f"{leak.examples:,}", f"{leak.texts:,}", plain(leak.sample))
        console.print(shown)
        console.print(
            "Scores on rows that were trained on are too good. Whole examples are the serious ones.",
            style="dim",
        )
    else:
        console.print("No dev text stands in any training file.")
    but = f", but {found.leaked_rows:,} dev rows are trained on" if found.leaked_rows else ""
    console.print(f"The recipe and its data can be used{but}: {found.steps:,} steps of training.")
