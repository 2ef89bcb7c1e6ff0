"""minbert reproduce: train the systems of the five reports, and show their published figures next to ours."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.compare import read_time_budget
from minbert.cli.console import command_line, console, escape_markup, text_table
from minbert.cli.options import (
    DataRootOption,
    ExtrasOption,
    JobsOption,
    ReportArgument,
    ReportFileOption,
    ReproduceBackboneOption,
    ReproduceOutOption,
    ReproduceSeedOption,
    RowBudgetOption,
    RowsOption,
    SetOption,
)
from minbert.cli.trial_progress import saved_when_stopped, watch_trials

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Table

    from minbert.comparison.compare import ComparisonEvent
    from minbert.comparison.engines.local import LocalEngine
    from minbert.comparison.reproduce import Reproduction, ReproductionCost, RowOutcome

# values of --backbone and --budget
OWN, FULL = "own", "full"
# columns for what a row cost
COSTS = 5


def reproduce(
    which: ReportArgument,
    backbone: ReproduceBackboneOption = "minilm",
    budget: RowBudgetOption = "5m",
    data_root: DataRootOption = None,
    set_: SetOption = None,
    out: ReproduceOutOption = Path("runs/reproduce"),
    seed: ReproduceSeedOption = 0,
    rows: RowsOption = None,
    extras: ExtrasOption = False,
    report: ReportFileOption = None,
    jobs: JobsOption = None,
) -> None:
    """Train the systems in the tables of a report under equal budgets, and compare with the published figures.

    Each row of a table is one system. The budget shortens all epochs by the same factor and does not include reading
    and evaluation; a row with one model per task divides it among them. A tenth of the training rows chooses the
    models (--set selection.validation_fraction=0: the dev rows do). The same command resumes after an interruption. If
    a row fails, it is shown as failed and the others continue.

    Example: minbert reproduce e --budget 5m --data-root data
    """
    from minbert.comparison.engines.local import LocalEngine
    from minbert.comparison.published import choose_rows, read_published
    from minbert.comparison.reproduce import Reproduction, ReproductionSettings
    from minbert.data.source import DataSource

    letters = list(read_published()) if which == "all" else [which]
    chosen = choose_rows(letters, [name.strip() for name in rows.split(",")] if rows else (), extras)
    limit = None if budget == FULL else read_time_budget(budget)
    weights = "" if backbone == OWN else backbone
    settings = ReproductionSettings(out, weights, limit, seed, DataSource(data_root), set_ or [])
    work = Reproduction(chosen, settings, command_line())
    work.comparison.check()
    train_rows(work, LocalEngine(out, jobs), report or out / "report.md")


def train_rows(work: "Reproduction", engine: "LocalEngine", file: Path) -> None:
    from minbert.comparison.reproduction_controls import outcomes_with_controls

    with saved_when_stopped(), closing(work.train(engine)) as events:
        watch_trials(with_report(work, events, file), engine.at_once)
    outcomes = outcomes_with_controls(work)
    write_reproduction_report(work, outcomes, file)
    console.print(selection_line(work))
    show_outcomes(outcomes, file)


def with_report(work: "Reproduction", events: "Iterable[ComparisonEvent]", file: Path) -> "Iterator[ComparisonEvent]":
    """Write the table after each trial, so that an interruption does not lose it."""
    from minbert.comparison.results import TrialResult

    for event in events:
        if isinstance(event, TrialResult):
            write_reproduction_report(work, work.outcomes(), file)
        yield event


def write_reproduction_report(work: "Reproduction", outcomes: "Sequence[RowOutcome]", file: Path) -> None:
    from minbert.comparison.published import REPORT_OVERALL
    from minbert.comparison.reproduce import reproduction_markdown
    from minbert.data.overall_score import describe_overall

    settings = work.settings
    limit = "whole recipes" if settings.seconds is None else f"{settings.seconds:,.0f} s of training per row"
    about = (
        f"Made by `{command_line()}`: {limit}, backbone {settings.backbone or 'of each recipe'}, seed {settings.seed}. "
        'Figures marked "here" were measured on all dev rows; the others are published. Overall is always '
        f'{describe_overall(REPORT_OVERALL)}; "printed" is the overall score printed in the report. '
        f"{selection_line(work)}"
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(reproduction_markdown(outcomes, "Published and measured", about), encoding="utf-8")


def selection_line(work: "Reproduction") -> str:
    from minbert.report.selection_sentences import DEV_ROWS_CHOSE, VALIDATION_ROWS_CHOSE

    return f"{DEV_ROWS_CHOSE if work.by_dev_rows else VALIDATION_ROWS_CHOSE}."


def show_outcomes(outcomes: "Sequence[RowOutcome]", file: Path) -> None:
    from minbert.comparison.published import REPORT_OVERALL
    from minbert.data.overall_score import describe_overall

    console.print(outcome_table(outcomes))
    for outcome in outcomes:
        if outcome.failed or outcome.note:
            line = f"{outcome.row.id}: {escape_markup(outcome.failed or outcome.note)}"
            console.print(line, style="dim")
    console.print(f"Published figures are as printed, with overall = {describe_overall(REPORT_OVERALL)}.")
    console.print(f"Table: {escape_markup(file)}")
    if any(outcome.failed for outcome in outcomes):
        raise typer.Exit(1)


def outcome_table(outcomes: "Sequence[RowOutcome]") -> "Table":
    """Two lines per row: the published figures, and ours."""
    from minbert.comparison.published import REPORT_METRICS, published_overall
    from minbert.comparison.reproduce import format_figure

    numbers = ("sst", "quora", "sts", "overall", "printed", "seconds", "steps", "tokens", "parameters", "trainable")
    made = text_table("row", "figures", *numbers, "system", right=numbers, wrap=("system",))
    for outcome in outcomes:
        row = outcome.row
        system = escape_markup(row.title) + (" (test)" if row.split == "test" else "")
        published = [format_figure(row.figures.get(task)) for task in REPORT_METRICS]
        overall, printed = format_figure(published_overall(row.figures)), format_figure(row.printed)
        costs = [""] * COSTS
        made.add_row(f"[bold]{row.id}[/]", "published", *published, overall, printed, *costs, system)
        ours = [
            f"[bold]{format_figure(value)}[/]" for value in (*map(outcome.figures.get, REPORT_METRICS), outcome.overall)
        ]
        state = "[red]failed[/]" if outcome.failed.startswith("failed") else "here"
        made.add_row("", state, *ours, "", *cost_columns(outcome.cost))
    return made


def cost_columns(cost: "ReproductionCost | None") -> list[str]:
    if cost is None:
        return [""] * COSTS
    millions = [f"{count / 1e6:.1f}M" for count in (cost.tokens, cost.total, cost.trainable)]
    return [f"{cost.seconds:,.0f}", f"{cost.steps:,}", *millions]
