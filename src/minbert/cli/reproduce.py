"""minbert reproduce: the rows of the five reports, trained here, beside their published figures."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minbert.cli.console import command_line, console, plain, table
from minbert.cli.options import DataRoot, Jobs
from minbert.cli.trial_progress import saved_when_stopped, watch_trials
from minbert.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from minbert.comparison.compare import ComparisonEvent
    from minbert.comparison.reproduce import Reproduction, RowOutcome

OWN, FULL = "own", "full"


def reproduce(
    which: Annotated[Literal["a", "b", "c", "d", "e", "all"], typer.Argument(help="A report, or all five.")],
    backbone: Annotated[
        str, typer.Option(help=f"Train on this one instead of the reports' BERT-base; '{OWN}': what the recipes name.")
    ] = "minilm",
    budget: Annotated[str, typer.Option(help=f"Training time of a row: 90s, 5m, 1h; '{FULL}': whole recipes.")] = "5m",
    data_root: DataRoot = None,
    out: Annotated[Path, typer.Option(help="The folder of the runs.")] = Path("runs/reproduce"),
    seed: Annotated[int, typer.Option(help="The seed of every run.")] = 0,
    rows: Annotated[
        str | None, typer.Option(metavar="ID,ID", help="Only these rows: a1,a2.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Where the table goes; OUT/report.md if left out.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Train the rows of a report's tables under equal budgets, and show published and measured figures.

    The budget cuts every epoch of a recipe alike; a row of one model a task shares it. Reading and measuring come on
    top. The same command goes on after an interruption: what is finished is not trained again, and what was going goes
    on from its checkpoint. A row that fails is shown as failed, and the others go on.

    Example: minbert reproduce e --budget 5m --data-root data
    """
    from minbert.comparison.engines.local import LocalEngine
    from minbert.comparison.published import choose_rows, read_published
    from minbert.comparison.reproduce import Reproduction, ReproductionSettings
    from minbert.durations import parse_duration

    letters = list(read_published()) if which == "all" else [which]
    chosen = choose_rows(letters, [name.strip() for name in rows.split(",")] if rows else ())
    try:
        limit = None if budget == FULL else parse_duration(budget)
    except ValueError as wrong:
        raise UserError(f"--budget: {wrong}.", "Write for example 90s, 5m or 1h.") from None
    settings = ReproductionSettings(out, "" if backbone == OWN else backbone, limit, seed, data_root)
    work = Reproduction(chosen, settings, command_line())
    work.comparison.check(data_root)
    file = report or out / "report.md"
    with saved_when_stopped(), closing(work.train(LocalEngine(out, jobs))) as events:
        watch_trials(reported(work, events, file))
    outcomes = work.outcomes()
    console.print(outcome_table(outcomes))
    for outcome in outcomes:
        if outcome.failed or outcome.note:
            console.print(f"{outcome.row.id}: {plain(outcome.failed or outcome.note)}", style="dim", soft_wrap=True)
    console.print(f"published: as printed, overall by (sst + quora + (sts + 1) / 2) / 3. The table is also in {file}")
    if any(outcome.failed for outcome in outcomes):
        raise typer.Exit(1)


def reported(work: "Reproduction", events: "Iterable[ComparisonEvent]", file: Path) -> "Iterator[ComparisonEvent]":
    """The table is written after each training, so that it is there whatever happens."""
    from minbert.comparison.results import TrialResult

    for told in events:
        if isinstance(told, TrialResult):
            write_report(work, file)
        yield told
    write_report(work, file)


def write_report(work: "Reproduction", file: Path) -> None:
    from minbert.comparison.reproduce import reproduction_markdown

    settings = work.settings
    time_ = "whole recipes" if settings.seconds is None else f"{settings.seconds:,.0f} s of training a row"
    about = (
        f"Made by `{command_line()}`: {time_}, "
        f"backbone {settings.backbone or 'of the recipes'}, "
        f'seed {settings.seed}. Figures "here" are of all dev rows; the others are published. Overall is always '
        '(sst + quora + (sts + 1) / 2) / 3; "printed" is what the report has.'
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(reproduction_markdown(work.outcomes(), "Published and measured", about), encoding="utf-8")


def outcome_table(outcomes: "Sequence[RowOutcome]") -> "Table":
    """Two lines a row: what is published, and what was measured here."""
    from minbert.comparison.published import REPORT_METRICS, published_overall
    from minbert.comparison.reproduce import format_figure

    numbers = ("sst", "quora", "sts", "overall", "printed", "seconds", "steps", "tokens", "parameters", "trainable")
    made = table("row", "system", *numbers, right=numbers)
    for outcome in outcomes:
        row, cost = outcome.row, outcome.cost
        split = " (test)" if row.split == "test" else ""
        published = [format_figure(row.figures.get(task)) for task in REPORT_METRICS]
        made.add_row(
            f"[bold]{row.id}[/]",
            plain(row.title) + split,
            *published,
            format_figure(published_overall(row.figures)),
            format_figure(row.printed),
        )
        ours = [f"[bold]{format_figure(outcome.figures.get(task))}[/]" for task in REPORT_METRICS]
        costs = []
        if cost is not None:
            millions = [f"{count / 1e6:.1f}M" for count in (cost.tokens, cost.total, cost.trainable)]
            costs = [f"{cost.seconds:,.0f}", f"{cost.steps:,}", *millions]
        what = "  [red]failed[/]" if outcome.failed.startswith("failed") else "  here"
        made.add_row("", what, *ours, f"[bold]{format_figure(outcome.overall)}[/]", "", *costs)
    return made
