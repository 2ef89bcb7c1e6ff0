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
# of the planned steps: a model that was trained for less is not finished
SMALL_PART = 0.5


def control_table(outcomes: "Mapping[str, TaskOutcome]", overall: float) -> TextTable:
    """Each task's main metric next to its controls, with its 95 % interval."""
    tested = any(each.test is not None for each in outcomes.values())
    timed = any(each.seconds for each in outcomes.values())
    more = [*(["seconds"] if timed else []), *(["test", "test rows"] if tested else [])]
    numbers = ("constant", "untrained", "this model", "rows", *more)
    made = text_table("task", "metric", *numbers, right=numbers)
    for name, each in outcomes.items():
        value = f"[bold]{each.value:.3f}[/] [dim]{each.low:.3f} to {each.high:.3f}[/]"
        controls = ["" if other is None else f"{other:.3f}" for other in (each.constant, each.probe)]
        test = [test_score(each), "" if each.test_rows is None else f"{each.test_rows:,}"] if tested else []
        counts = [f"{each.rows:,}", *([f"{each.seconds:,.0f}"] if timed else [])]
        made.add_row(escape_markup(name), each.metric, *controls, value, *counts, *test)
    if len(outcomes) > 1:
        made.add_row("overall", "", "", "", f"[bold]{overall:.3f}[/]")
    return made


def test_score(outcome: "TaskOutcome") -> str:
    """With its interval, as far as it is known."""
    if outcome.test is None:
        return ""
    interval = "" if outcome.test_low is None else f" [dim]{outcome.test_low:.3f} to {outcome.test_high:.3f}[/]"
    return f"{outcome.test:.3f}{interval}"


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
    """What to do about a task that does not clearly beat its controls: a known cause, else more rows."""
    from minbert.data.metrics import best_value
    from minbert.runs.data_findings import MANY_UNKNOWN

    if outcome.unknown is not None and outcome.unknown >= MANY_UNKNOWN:
        return (
            "The tokenizer does not know many of its tokens: choose a backbone for this language, such as "
            "--set backbone=bert-multilingual (`minbert models`)."
        )
    if outcome.trained_part is not None and outcome.trained_part < SMALL_PART:
        return f"Only {outcome.trained_part:.0%} of its planned steps fitted into the time: give it a longer --budget."
    best = best_value(outcome.metric)
    perfect = [name for name, other in outcome.controls.items() if abs(other - best) < 1e-9]
    if perfect:
        rows = f"{plural(outcome.rows, 'dev row')} {'is' if outcome.rows == 1 else 'are'}"
        return (
            f"{perfect[0].capitalize()} already has the best possible {outcome.metric}, so the {rows} too easy to "
            "show what training adds: measure on more, or more difficult, rows."
        )
    if outcome.rows < ENOUGH_ROWS:
        return f"{plural(outcome.rows, 'dev row')} cannot tell: measure on more."
    return "More labeled rows help most; `minbert check` finds problems in those that there are."
