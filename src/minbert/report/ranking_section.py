"""Comparison results -> the tables of scores, differences and costs."""

from collections.abc import Mapping
from urllib.parse import quote

from minbert.comparison.results import ComparisonResults, ScoreDifference, Summary, System
from minbert.report.blocks import Block, Cell, Column, Option, Section, Table, choice_of
from minbert.report.control_rows import against_controls_table, control_systems
from minbert.report.number_format import (
    NO_VALUE,
    byte_size,
    duration_text,
    fixed,
    interval_text,
    p_value,
    percentage,
    short_count,
    signed,
)
from minbert.report.sentences import (
    RESULT_SYMBOLS,
    RESULT_TONES,
    higher_is_better,
    main_measure,
    measure_decimals,
    measure_name,
    measures_in_order,
)
from minbert.report.series_styles import SeriesStyle

EMPTY_CELL = Cell(NO_VALUE)


def ranking_section(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Section:
    lead = (
        f"{'' if results.complete else 'Incomplete. '}Means over seeds on the dev rows, the best first. "
        f"▲ and ▼ mark recipes that are better or worse than {results.baseline}."
    )
    measures = measures_in_order(results)
    options = (Option((measure_table(results, name, styles),), name, measure_name(name)) for name in measures)
    blocks: list[Block] = [overview_table(results, styles)] if len(measures) > 1 else []
    blocks += [*choice_of("measure", "Measure", options), difference_table(results)]
    blocks += [against_controls_table(results)] if results.controls else []
    known = any(each.summaries for each in results.systems)
    hint = "Click a column to sort."
    return Section("results", "Results", "Results", lead, tuple(blocks) if known else (), hint)


def overview_table(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Table:
    measures = measures_in_order(results)
    columns = (
        Column("Recipe", numeric=False),
        *(Column(measure_name(m), sort=sort_order(m) if m == measures[0] else "") for m in measures),
    )
    rows = tuple(
        (system_cell(each, results, styles), *(overview_cell(each, measure, results) for measure in measures))
        for each in (*results.systems, *control_systems(results))
    )
    return Table("All measures", columns, rows)


def sort_order(measure: str) -> str:
    return "descending" if higher_is_better(measure) else "ascending"


def system_cell(each: System, results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Cell:
    note = each.about
    if each.label == results.baseline != "baseline":
        note = f"the baseline: {note}" if note else "the baseline"
    return Cell(each.label, each.label, note=note, style=styles.get(each.label))


def overview_cell(each: System, measure: str, results: ComparisonResults) -> Cell:
    decimals = measure_decimals(results, measure)
    summary, d = each.summaries.get(measure), each.differences.get(measure)
    if not summary:
        return EMPTY_CELL
    note = "" if not d else f"{RESULT_SYMBOLS.get(d.result, '')} {signed(d.value, decimals)}".strip()
    return Cell(plus_minus(summary, decimals), summary.mean, note=note, tone=difference_tone(d))


def difference_tone(difference: ScoreDifference | None) -> str:
    return RESULT_TONES.get(difference.result, "unclear") if difference else ""


def plus_minus(summary: Summary, decimals: int) -> str:
    mean = fixed(summary.mean, decimals)
    return mean if summary.sd is None else f"{mean} ± {fixed(summary.sd, decimals)}"


def measure_table(results: ComparisonResults, measure: str, styles: Mapping[str, SeriesStyle]) -> Table:
    """Everything about one measure."""
    decimals = measure_decimals(results, measure)
    columns = (
        Column("Recipe", numeric=False),
        Column("Result", numeric=False, about=f"compared with {results.baseline}"),
        Column("Difference", about=f"from {results.baseline}, with its 95 % interval; above 0 is better"),
        Column("Mean ± sd", sort=sort_order(measure), about="over seeds, with the 95 % interval of the mean below"),
        Column("p", about="corrected for all comparisons with Holm's method"),
        Column("Time", about="training time", once=True),
        Column("Tokens", about="tokens read in training", once=True),
        Column("Trainable", about="parameters that are trained in at least one stage", once=True),
        Column("Memory", about="peak memory of the process", once=True),
        Column("Size", about="of the saved model", once=True),
    )
    found = [each for each in (*results.systems, *control_systems(results)) if measure in each.summaries]
    found.sort(key=lambda each: each.summaries[measure].mean, reverse=higher_is_better(measure))
    rest = [each for each in results.systems if measure not in each.summaries]
    rows = tuple(
        (system_cell(each, results, styles), *measure_cells(each, measure, decimals)) for each in [*found, *rest]
    )
    return Table(f"Details: {measure_name(measure)}", columns, rows)


def measure_cells(each: System, measure: str, decimals: int) -> tuple[Cell, ...]:
    summary = each.summaries.get(measure)
    score = EMPTY_CELL
    if summary:
        note = interval_text(summary.low, summary.high, decimals)
        score = Cell(plus_minus(summary, decimals), summary.mean, note=note)
    difference, result, p = difference_cells(each.differences.get(measure), decimals)
    return (result, difference, score, p, *cost_cells(each))


def difference_cells(d: ScoreDifference | None, decimals: int) -> tuple[Cell, Cell, Cell]:
    """The value with its interval, the result, and the corrected p."""
    if d is None:
        return EMPTY_CELL, EMPTY_CELL, EMPTY_CELL
    tone = difference_tone(d)
    rank = {"better": 1.0, "worse": -1.0}.get(tone, 0.0)
    return (
        Cell(signed(d.value, decimals), d.value, note=interval_text(d.low, d.high, decimals, sign=True)),
        Cell(f"{RESULT_SYMBOLS.get(d.result, '')} {d.result}".strip(), rank, tone=tone, chip=True),
        Cell(p_value(d.corrected), d.corrected),
    )


def cost_cells(each: System) -> tuple[Cell, ...]:
    cost = each.cost
    if cost is None:
        return (EMPTY_CELL,) * 5
    return (
        Cell(duration_text(cost.seconds), cost.seconds, note=f"{short_count(cost.steps)} steps"),
        Cell(short_count(cost.tokens), cost.tokens),
        Cell(short_count(cost.trainable), cost.trainable, note=f"of {short_count(cost.total)}"),
        Cell(byte_size(cost.memory), cost.memory),
        Cell(byte_size(cost.size), cost.size),
    )


def difference_table(results: ComparisonResults) -> Table:
    """Every number of every difference."""
    columns = (
        Column("Recipe", False),
        Column("Measure", False),
        Column("Difference"),
        Column("p"),
        Column("p corrected"),
        Column("p rows", about="permutation test over the dev rows alone: do these particular models differ?"),
        Column(
            "Minimum detectable effect", about="the smallest true difference that would be detected four times in five"
        ),
        Column("Effect d", about="Cohen's d over seeds"),
        Column("Errors removed"),
    )
    rows = []
    for each in results.systems:
        for measure in measures_in_order(results):
            if d := each.differences.get(measure):
                name, decimals = measure_name(measure), measure_decimals(results, measure)
                interval = interval_text(d.low, d.high, decimals, sign=True)
                rows.append(
                    (
                        Cell(each.label, each.label),
                        Cell(name, name),
                        Cell(f"{signed(d.value, decimals)} {interval}", d.value),
                        *(Cell(p_value(p), p) for p in (d.p, d.corrected, d.p_rows)),
                        Cell(fixed(d.minimum_detectable_effect, decimals), d.minimum_detectable_effect),
                        Cell(fixed(d.effect, 2), d.effect),
                        Cell(percentage(d.errors_removed, 1), d.errors_removed),
                    )
                )
    return Table("Every difference", columns, tuple(rows), fold="Every difference in detail")


def training_run_table(results: ComparisonResults) -> Table:
    """System by seed: the main score, with a link to the run's folder."""
    measure = main_measure(results)
    decimals = measure_decimals(results, measure)
    columns = (Column("Recipe", numeric=False), *(Column(f"Seed {seed}") for seed in results.seeds))
    rows = []
    for each in results.systems:
        found = each.summaries[measure].values if measure in each.summaries else {}
        cells = [Cell(each.label, each.label)]
        for seed in results.seeds:
            if seed in found:
                link = quote(each.runs[seed]) if each.runs.get(seed) else ""
                cells.append(Cell(fixed(found[seed], decimals), found[seed], link=link))
            else:
                cells.append(Cell("failed" if seed in each.failed else "missing", tone="worse", chip=True))
        rows.append(tuple(cells))
    title = f"Every training run: {measure_name(measure)}"
    return Table(title, columns, tuple(rows), fold="Every training run and its folder")
