"""Comparison results -> their controls as rows of tables and plots."""

from minbert.comparison.results import BETTER, ComparisonResults, Control, Summary, System
from minbert.report.blocks import Cell, Column, Table
from minbert.report.control_sentences import control_name
from minbert.report.number_format import interval_text, p_value, signed
from minbert.report.sentences import measure_decimals, measure_name, measures_in_order

NOTE = "a control: nothing is trained"
FOREST_CAPTION = " The last rows are the controls, which every recipe should beat: their dots should be left of 0."


def control_systems(results: ComparisonResults) -> tuple[System, ...]:
    """The controls in the form of recipes, with their differences from the baseline."""
    return tuple(control_system(each, results) for each in results.controls)


def control_system(control: Control, results: ComparisonResults) -> System:
    known = control.differences.get(results.baseline, {})
    return System(
        label=control_name(control, results),
        about=NOTE,
        changes=(),
        seeds=(),
        failed={},
        missing=(),
        summaries={name: Summary(value, None, None, None, {}) for name, value in control.scores.items()},
        differences={name: difference.reversed() for name, difference in known.items()},
        cost=None,
        curves={},
        cosines={},
        runs={},
    )


def against_controls_table(results: ComparisonResults) -> Table:
    """Each recipe minus each of its controls."""
    columns = (
        Column("Recipe", False),
        Column("Control", False),
        Column("Measure", False),
        Column("Recipe minus control", about="with the interval at the level of Holm's correction"),
        Column("p"),
        Column("Corrected p", about="with Holm's method over all rows of this table"),
        Column("Result", False),
    )
    rows = []
    for control in results.controls:
        for label, by in control.differences.items():
            for measure in measures_in_order(results):
                if d := by.get(measure):
                    name, decimals = measure_name(measure), measure_decimals(results, measure)
                    interval = interval_text(d.corrected_low, d.corrected_high, decimals, sign=True)
                    result = control_result(control, label, measure)
                    rows.append(
                        (
                            Cell(label, label),
                            Cell(control.kind, control.kind),
                            Cell(name, name),
                            Cell(f"{signed(d.value, decimals)} {interval}", d.value),
                            Cell(p_value(d.p), d.p),
                            Cell(p_value(d.corrected), d.corrected),
                            Cell(result, result),
                        )
                    )
    return Table("Every recipe against its controls", columns, tuple(rows), fold="Every recipe against its controls")


def control_result(control: Control, label: str, measure: str) -> str:
    if label in control.not_beaten_by(measure):
        return "not beaten"
    return "better" if control.differences[label][measure].result == BETTER else "not clearly better"
