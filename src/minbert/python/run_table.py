"""The outcomes of a run -> a table in HTML, for notebooks."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from minbert.runs.outcomes import TaskOutcome

COLUMNS = ("task", "metric", "constant", "untrained", "this model", "95 % interval", "dev rows")


def run_table(path: Path, state: str, outcomes: Mapping[str, TaskOutcome]) -> str:
    """Each task next to its controls; with the test score if some task has one."""
    caption = f"<p>Run <code>{escape(str(path))}</code>, {escape(state)}</p>"
    if not outcomes:
        return caption
    tested = any(each.test is not None for each in outcomes.values())
    rows = [html_cells(name, each, tested) for name, each in outcomes.items()]
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escape(column)}</th>" for column in (*COLUMNS, *(["test"] if tested else [])))
    return f"{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_cells(name: str, outcome: TaskOutcome, tested: bool) -> list[str]:
    controls = ["" if score is None else f"{score:.3f}" for score in (outcome.constant, outcome.probe)]
    interval = f"{outcome.low:.3f} to {outcome.high:.3f}"
    test = ["" if outcome.test is None else f"{outcome.test:.3f}"] if tested else []
    value = f"{outcome.value:.3f}{in_brackets(outcome)}"
    return [name, outcome.metric, *controls, value, interval, f"{outcome.rows:,}", *test]


def in_brackets(outcome: TaskOutcome) -> str:
    if outcome.not_beaten:
        return f" (does not beat {' and '.join(outcome.not_beaten)})"
    return f" (not clearly better than {' and '.join(outcome.unclear)})" if outcome.unclear else ""
