"""How good each task of a run is next to its controls, as a table, with what to do about those that beat none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from minbert.cli.console import console, escape_markup, text_table
from minbert.cli.text_table import TextTable
from minbert.plural import plural

if TYPE_CHECKING:
    from minbert.runs.outcomes import TaskOutcome

# with fewer dev rows, an interval is wider than most differences
ENOUGH_ROWS = 100


def control_table(outcomes: "Mapping[str, TaskOutcome]", overall: float) -> TextTable:
    """Each task's main metric next to its controls, with its 95 % interval."""
    tested = any(each.test is not None for each in outcomes.values())
    timed = any(each.seconds for each in outcomes.values())
    more = [*(["seconds"] if timed else []), *(["test"] if tested else [])]
    numbers = ("constant", "untrained", "this model", "rows", *more)
    made = text_table("task", "metric", *numbers, right=numbers)
    for name, each in outcomes.items():
        value = f"[bold]{each.value:.3f}[/] [dim]{each.low:.3f} to {each.high:.3f}[/]"
        controls = ["" if other is None else f"{other:.3f}" for other in (each.constant, each.probe)]
        test = ["" if each.test is None else f"{each.test:.3f}"] if tested else []
        counts = [f"{each.rows:,}", *([f"{each.seconds:,.0f}"] if timed else [])]
        made.add_row(escape_markup(name), each.metric, *controls, value, *counts, *test)
    if len(outcomes) > 1:
        made.add_row("overall", "", "", "", f"[bold]{overall:.3f}[/]")
    return made


def show_task_outcomes(outcomes: "Mapping[str, TaskOutcome]", overall: float) -> None:
    """The table, and every task that does not clearly beat its controls, with what to try."""
    console.print(control_table(outcomes, overall))
    for name, each in outcomes.items():
        task = escape_markup(name)
        if each.not_beaten:
            others = " and ".join(each.not_beaten)
            console.print(f"[bold red]{task} does not beat {others}.[/] {outcome_advice(each)}")
        elif each.unclear:
            others, scores = " and ".join(each.unclear), "scores" if len(each.unclear) > 1 else "score"
            said = f"[yellow]{task} is not clearly better than {others}[/] (the interval includes the {scores})."
            console.print(f"{said} {outcome_advice(each)}")


def outcome_advice(outcome: "TaskOutcome") -> str:
    """What to do about a task that does not clearly beat its controls."""
    from minbert.data.metrics import best_value

    best = best_value(outcome.metric)
    if any(abs(other - best) < 1e-9 for other in outcome.controls.values()):
        return (
            f"{plural(outcome.rows, 'dev row')} cannot tell, because a control is right on all: measure on harder ones."
        )
    if outcome.rows < ENOUGH_ROWS:
        return f"{plural(outcome.rows, 'dev row')} cannot tell: measure on more."
    return "More labeled rows help most; `minbert check` finds problems in those that there are."
