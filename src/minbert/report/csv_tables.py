"""Findings -> tables of plain numbers for programs: name of the file, rows with a head."""

from collections.abc import Iterable, Sequence
from dataclasses import fields

from minbert.comparison.results import ComparisonResults, Curve, ScoreDifference, Summary, TrialCost
from minbert.inference.formats import SeparatedFormat

Rows = list[Sequence[object]]
SUMMARY = ("mean", "sd", "low", "high")
DIFFERENCE = tuple(field.name for field in fields(ScoreDifference))
COST = tuple(field.name for field in fields(TrialCost))


def tables(results: ComparisonResults) -> dict[str, Rows]:
    found = {
        "results.csv": system_rows(results),
        "tables/seeds.csv": seeds(results),
        "tables/changes.csv": changes(results),
        "tables/curves.csv": curves(results),
        "tables/cosines.csv": cosines(results),
        "tables/gains.csv": gains(results),
        "tables/transfers.csv": transfers(results),
    }
    # a head without rows says nothing, except of the results
    return {name: rows for name, rows in found.items() if len(rows) > 1 or name == "results.csv"}


def system_rows(results: ComparisonResults) -> Rows:
    """One row a recipe and measure."""
    rows: Rows = [("recipe", "measure", "baseline", "seeds", *SUMMARY, *named("difference", DIFFERENCE), *COST)]
    for each in results.systems:
        for measure in results.measures:
            summary = each.summaries.get(measure)
            rows.append(
                (
                    each.label,
                    measure,
                    results.baseline,
                    len(summary.values) if summary else 0,
                    *values_of(summary, SUMMARY),
                    *values_of(each.differences.get(measure), DIFFERENCE),
                    *values_of(each.cost, COST),
                )
            )
    return rows


def seeds(results: ComparisonResults) -> Rows:
    """One row a recipe, seed and measure; a training without result has one row."""
    rows: Rows = [("recipe", "seed", "state", "measure", "value", "run", "reason")]
    for each in results.systems:
        for measure in results.measures:
            found = each.summaries[measure].values if measure in each.summaries else {}
            rows += [
                (each.label, seed, "finished", measure, v, each.runs.get(seed, ""), "") for seed, v in found.items()
            ]
        rows += [(each.label, seed, "failed", "", "", "", reason) for seed, reason in each.failed.items()]
        rows += [(each.label, seed, "missing", "", "", "", "") for seed in each.missing]
    return rows


def changes(results: ComparisonResults) -> Rows:
    return [
        ("recipe", "setting", "baseline", "own"),
        *((each.label, *change) for each in results.systems for change in each.changes),
    ]


def curves(results: ComparisonResults) -> Rows:
    rows: Rows = [("recipe", "measure", "step", "mean", "low", "high")]
    for each in results.systems:
        for measure, curve in each.curves.items():
            rows += [(each.label, measure, *point) for point in points(curve)]
    return rows


def cosines(results: ComparisonResults) -> Rows:
    rows: Rows = [("recipe", "task", "other_task", "step", "mean", "low", "high")]
    for each in results.systems:
        for pair, curve in each.cosines.items():
            rows += [(each.label, *pair, *point) for point in points(curve)]
    return rows


def gains(results: ComparisonResults) -> Rows:
    head = ("task", *named("alone", SUMMARY), *named("together", SUMMARY), *named("difference", DIFFERENCE))
    rows: Rows = [head]
    for gain in results.gains:
        both = (*values_of(gain.alone, SUMMARY), *values_of(gain.together, SUMMARY))
        rows.append((gain.task, *both, *values_of(gain.difference, DIFFERENCE)))
    return rows


def transfers(results: ComparisonResults) -> Rows:
    rows: Rows = [("source", "target", "how", *named("difference", DIFFERENCE))]
    rows += [(t.source, t.target, t.how, *values_of(t.difference, DIFFERENCE)) for t in results.transfers]
    return rows


def points(curve: Curve) -> Iterable[tuple[float, ...]]:
    return zip(curve.steps, curve.mean, curve.low, curve.high, strict=True)


def named(what: str, columns: Sequence[str]) -> tuple[str, ...]:
    """difference, difference_low, ...: the value itself has the short name."""
    return tuple(what if column == "value" else f"{what}_{column}" for column in columns)


def values_of(found: Summary | ScoreDifference | TrialCost | None, columns: Sequence[str]) -> tuple[object, ...]:
    """Nothing is an empty field."""
    return tuple("" if found is None or (x := getattr(found, column)) is None else x for column in columns)


def csv_text(rows: Rows) -> str:
    return SeparatedFormat(",").lines(rows).decode("utf-8")
