"""Comparison results -> CSV tables for programs: file name: rows, the first of which names the columns."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from minbert.comparison.results import ComparisonResults, Curve, ScoreDifference, TrialCost
from minbert.inference.formats import SeparatedFormat
from minbert.report.control_rows import control_result, control_systems

CsvRows = list[Sequence[object]]
SUMMARY_COLUMNS = ("mean", "sd", "low", "high")
DIFFERENCE_COLUMNS = tuple(field.name for field in fields(ScoreDifference))
COST_FIELDS = tuple(field.name for field in fields(TrialCost))
# column names that are clearer than the names of the fields
COST_NAMES = {"total": "parameters", "trainable": "trainable_parameters"}


def comparison_tables(results: ComparisonResults) -> dict[str, CsvRows]:
    found = {
        "results.csv": system_rows(results),
        "tables/controls.csv": control_rows(results),
        "tables/seeds.csv": seed_rows(results),
        "tables/changes.csv": change_rows(results),
        "tables/curves.csv": curve_rows(results),
        "tables/cosines.csv": cosine_rows(results),
        "tables/gains.csv": gain_rows(results),
        "tables/transfers.csv": transfer_rows(results),
    }
    # empty tables are not written, except for the results
    return {name: rows for name, rows in found.items() if len(rows) > 1 or name == "results.csv"}


def system_rows(results: ComparisonResults) -> CsvRows:
    """One row per system and measure, and per control and measure."""
    costs = tuple(COST_NAMES.get(column, column) for column in COST_FIELDS)
    differences = prefixed("difference", DIFFERENCE_COLUMNS)
    rows: CsvRows = [("recipe", "measure", "baseline", "seeds", *SUMMARY_COLUMNS, *differences, *costs)]
    for each in (*results.systems, *control_systems(results)):
        for measure in results.measures:
            summary = each.summaries.get(measure)
            rows.append(
                (
                    each.label,
                    measure,
                    results.baseline,
                    len(summary.values) if summary else 0,
                    *field_values(summary, SUMMARY_COLUMNS),
                    *field_values(each.differences.get(measure), DIFFERENCE_COLUMNS),
                    *field_values(each.cost, COST_FIELDS),
                )
            )
    return rows


def control_rows(results: ComparisonResults) -> CsvRows:
    """One row per system, control and measure: the system minus the control."""
    names = [name for name in DIFFERENCE_COLUMNS if name != "result"]
    rows: CsvRows = [("recipe", "control", "measure", "control_score", *prefixed("difference", names), "result")]
    for control in results.controls:
        for label, by in control.differences.items():
            for measure, difference in by.items():
                start = (label, control.kind.removeprefix("the "), measure, control.scores[measure])
                rows.append((*start, *field_values(difference, names), control_result(control, label, measure)))
    return rows


def seed_rows(results: ComparisonResults) -> CsvRows:
    """One row per system, seed and measure; a training run without a result has one row."""
    rows: CsvRows = [("recipe", "seed", "state", "measure", "value", "run", "reason")]
    for each in results.systems:
        for measure in results.measures:
            found = each.summaries[measure].values if measure in each.summaries else {}
            rows += [
                (each.label, seed, "finished", measure, v, each.runs.get(seed, ""), "") for seed, v in found.items()
            ]
        rows += [(each.label, seed, "failed", "", "", "", reason) for seed, reason in each.failed.items()]
        rows += [(each.label, seed, "missing", "", "", "", "") for seed in each.missing]
    return rows


def change_rows(results: ComparisonResults) -> CsvRows:
    return [
        ("recipe", "setting", "baseline_value", "value"),
        *((each.label, *change) for each in results.systems for change in each.changes),
    ]


def curve_rows(results: ComparisonResults) -> CsvRows:
    rows: CsvRows = [("recipe", "measure", "step", "mean", "low", "high")]
    for each in results.systems:
        for measure, curve in each.curves.items():
            rows += [(each.label, measure, *point) for point in curve_points(curve)]
    return rows


def cosine_rows(results: ComparisonResults) -> CsvRows:
    rows: CsvRows = [("recipe", "task", "other_task", "step", "mean", "low", "high")]
    for each in results.systems:
        for pair, curve in each.cosines.items():
            rows += [(each.label, *pair, *point) for point in curve_points(curve)]
    return rows


def gain_rows(results: ComparisonResults) -> CsvRows:
    scores = (*prefixed("alone", SUMMARY_COLUMNS), *prefixed("together", SUMMARY_COLUMNS))
    rows: CsvRows = [("task", *scores, *prefixed("difference", DIFFERENCE_COLUMNS))]
    for gain in results.gains:
        both = (*field_values(gain.alone, SUMMARY_COLUMNS), *field_values(gain.together, SUMMARY_COLUMNS))
        rows.append((gain.task, *both, *field_values(gain.difference, DIFFERENCE_COLUMNS)))
    return rows


def transfer_rows(results: ComparisonResults) -> CsvRows:
    rows: CsvRows = [("source", "target", "how", *prefixed("difference", DIFFERENCE_COLUMNS))]
    rows += [(t.source, t.target, t.how, *field_values(t.difference, DIFFERENCE_COLUMNS)) for t in results.transfers]
    return rows


def curve_points(curve: Curve) -> Iterable[tuple[float, ...]]:
    return zip(curve.steps, curve.mean, curve.low, curve.high, strict=True)


def prefixed(prefix: str, columns: Sequence[str]) -> tuple[str, ...]:
    """difference, difference_low, ...: the value itself has the name without a suffix."""
    return tuple(prefix if column == "value" else f"{prefix}_{column}" for column in columns)


def field_values(record: object, columns: Sequence[str]) -> tuple[object, ...]:
    """None becomes an empty field."""
    return tuple("" if record is None or (x := getattr(record, column)) is None else x for column in columns)


def csv_text(rows: CsvRows) -> str:
    return SeparatedFormat(",").lines(rows).decode("utf-8")
