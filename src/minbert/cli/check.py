"""minbert check: what can be known about a recipe and its data before training."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import console, escape_markup, stderr, text_table
from minbert.cli.data_files import DataFlags, choose_recipe
from minbert.cli.options import (
    DataRootOption,
    JsonOption,
    KeepNaOption,
    KindOption,
    LabelOption,
    MetricOption,
    RecipeOrFilesArgument,
    SetOption,
    SkipBadRowsOption,
    TaskLengthOption,
    TaskNameOption,
    TextOption,
    WithRecipeOption,
)
from minbert.errors import UserError
from minbert.plural import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from minbert.analysis.data_check import DataReport
    from minbert.config.recipe import Recipe
    from minbert.runs.split_report import SplitReport


def check(
    given: RecipeOrFilesArgument,
    text: TextOption = None,
    label: LabelOption = None,
    kind: KindOption = None,
    keep_na: KeepNaOption = False,
    task: TaskNameOption = None,
    recipe: WithRecipeOption = None,
    metric: MetricOption = None,
    max_length: TaskLengthOption = None,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a recipe and its data without training.

    Reads every file, builds the model, and reports rows, copies, contradictions, label balance, lengths before
    truncation, unknown tokens, how often training passes over each task, dev rows that are also training rows of any
    task, and test rows that are also training or dev rows. The exit code is 1 if something should be corrected.

    Examples:
      minbert check reviews.csv
      minbert check baseline --data-root data
    """
    flags = DataFlags(text, label, kind, task, recipe, metric, max_length, keep_na)
    chosen = choose_recipe(given, flags, set_ or [], quiet=as_json)
    report = checked_data(chosen, data_root, skip_bad_rows)
    if as_json:
        typer.echo(json.dumps(asdict(report), indent=2))
    else:
        show_data_report(report)
    if report.wrong:
        raise typer.Exit(1)


def checked_data(chosen: "Recipe", data_root: Path | None, skip_bad_rows: bool) -> "DataReport":
    """The report; bad rows are listed, all of them, and are an error."""
    from minbert.analysis.data_check import check_recipe
    from minbert.data.rejects import BadRows, group_by_reason
    from minbert.data.source import DataSource

    try:
        with stderr.status("reading and comparing all rows"):
            return check_recipe(chosen, DataSource(data_root, skip_bad_rows))
    except BadRows as bad:
        for line in group_by_reason(bad.rejects):
            console.print(line, markup=False)
        raise UserError(f"{plural(len(set(bad.rejects)), 'bad row')}.", bad.next_step) from None


def show_data_report(report: "DataReport") -> None:
    from minbert.data.rejects import describe_reasons

    for table in (row_table(report), token_table(report.splits)):
        console.print(table)
        console.print()
    for split in report.splits:
        if split.skipped:
            why = escape_markup(describe_reasons(split.skip_reasons))
            console.print(f"{split.task}: {split.skipped:,} {split.split} rows are skipped: {why}")
    show_shorter_lengths(report.splits)
    for split in report.splits:
        show_items(f"[bold]{split.task}[/] {split.split} labels:", label_shares(split))
    console.print()
    for name, skipped in report.skipped.items():
        show_skipped(name, skipped)
    show_leaks(report)
    console.print()
    for finding in report.findings:
        style = "bold red" if finding.severity == "wrong" else "yellow"
        console.print(f"[{style}]{finding.severity}:[/] {escape_markup(finding.message)}")
    wrong = sum(finding.severity == "wrong" for finding in report.findings)
    verdict = "The recipe and its data are valid"
    if wrong:
        verdict = f"{plural(wrong, 'problem')}, marked as wrong above: correct the data before training"
    console.print(f"{verdict}. Training takes {plural(report.steps, 'step')}.")


def row_table(report: "DataReport") -> "Table":
    """Rows of each split, and how often training passes over them."""
    numbers = ("rows", "skipped", "copies", "contradictions", "batches", "passes")
    made = text_table("task", "split", *numbers, right=numbers)
    planned = {each.task: each for each in report.planned}
    for split in report.splits:
        plan = planned[split.task]
        counts = (split.rows, split.skipped, split.duplicates, split.contradictions)
        trained = (f"{plan.batches:,.0f}", f"{plan.passes:.1f}") if split.split == "train" else ("", "")
        made.add_row(f"[bold]{split.task}[/]", split.split, *(f"{count:,}" for count in counts), *trained)
    return made


def token_table(splits: "Sequence[SplitReport]") -> "Table":
    """Lengths before truncation, and tokens that the tokenizer does not know."""
    numbers = ("median", "95 %", "99 %", "longest", "max_length", "truncated", "unknown")
    made = text_table("tokens of", "split", *numbers, right=numbers)
    for split in splits:
        lengths = (split.median_tokens, split.tokens_95, split.tokens_99, split.most_tokens, split.max_length)
        shares = (split.truncated / split.rows, split.unknown_tokens)
        made.add_row(
            f"[bold]{split.task}[/]",
            split.split,
            *(f"{length:,}" for length in lengths),
            *(f"{share:.1%}" for share in shares),
        )
    return made


def label_shares(split: "SplitReport", most: int = 12) -> list[str]:
    """The most frequent labels with their fractions, or all fifths of the score range."""
    ranked = sorted(split.balance.items(), key=lambda each: -each[1])[:most]
    shown = split.balance.items() if len(split.balance) <= most else ranked
    more = [f"and {len(split.balance) - most} more"] if len(split.balance) > most else []
    return [*(f"{escape_markup(label)} {fraction:.1%}" for label, fraction in shown), *more]


def show_items(title: str, items: "Sequence[str]") -> None:
    """The items after a title, in lines that break between items."""
    from rich.text import Text

    width, line = console.options.max_width, title
    for item in items:
        longer = f"{line}{' ' if line == title else '  '}{item}"
        if line != title and Text.from_markup(longer, emoji=False).cell_len > width:
            console.print(line)
            longer = f"    {item}"
        line = longer
    console.print(line)


def show_skipped(name: str, skipped: "Sequence[str]", most: int = 15) -> None:
    console.print(f"[bold]{escape_markup(name)}[/]: {plural(len(skipped), 'row')} skipped")
    for row in skipped[:most]:
        console.print(f"  {row}", markup=False)
    if len(skipped) > most:
        console.print(f"  ... and {len(skipped) - most:,} more; --json lists them all")
    console.print()


def show_shorter_lengths(splits: "Sequence[SplitReport]") -> None:
    """A smaller max_length, where it is enough for all rows of a task. Below the default there is nothing to gain."""
    from minbert.config.task import DEFAULT_MAX_LENGTH

    for task in dict.fromkeys(split.task for split in splits):
        own = [split for split in splits if split.task == task]
        limit, enough = own[0].max_length, max(split.suggested_max_length or split.max_length for split in own)
        if DEFAULT_MAX_LENGTH <= enough < limit:
            console.print(f"--set tasks.{task}.max_length={enough} would be enough for {task}.")


def show_leaks(report: "DataReport") -> None:
    dev = [(leak.dev, leak.train, leak.examples, leak.texts) for leak in report.leaks]
    test = [(leak["test"], leak["train_or_dev"], leak["examples"], leak["texts"]) for leak in report.test_leaks]
    for split, known, leaks in (("dev", "training", dev), ("test", "training or dev", test)):
        found = [leak for leak in leaks if leak[2] or leak[3]]
        if found:
            console.print(leak_table(split, known, found))
        elif leaks:
            console.print(f"No {split} text occurs in the {known} data.")


def leak_table(split: str, known: str, leaks: "Sequence[tuple[str, str, int, int]]") -> "Table":
    numbers = ("whole examples", "single texts")
    made = text_table(f"{split} rows of", f"in {known} data of", *numbers, right=numbers)
    for task, other, examples, texts in leaks:
        made.add_row(escape_markup(task), escape_markup(other), f"{examples:,}", f"{texts:,}")
    return made
