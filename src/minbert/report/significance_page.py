"""Results of given predictions -> their page: the parts of a comparison's page that need no training runs."""

import math
from pathlib import Path

from minbert.comparison.results import ComparisonResults
from minbert.report.blocks import (
    Block,
    Cell,
    Column,
    Commands,
    Facts,
    Figure,
    Heading,
    Notice,
    Page,
    Paragraph,
    Section,
    Table,
)
from minbert.report.charts.forest_plot import ForestRow, forest_plot
from minbert.report.number_format import fixed, interval_text, p_value
from minbert.report.ranking_section import EMPTY_CELL, difference_cells, plus_minus, sort_order
from minbert.report.sentences import cautions, comparison_headline, difference_caption, measure_decimals, measure_name


def significance_page(results: ComparisonResults) -> Page:
    sections = (difference_plot(results), system_section(results), seed_table(results))
    caveats = tuple(Paragraph(each) for each in results.caveats)
    return Page(
        kind="Significance",
        title=results.title,
        headline=(*comparison_headline(results, "system"), *cautions(results)),
        facts=Facts(
            (
                ("Systems", str(len(results.systems))),
                ("Seeds", ", ".join(f"{each.label} {len(each.seeds)}" for each in results.systems)),
                ("Gold", results.provenance["gold"]),
                ("Metric", measure_name(results.measures[0])),
            )
        ),
        notices=(Notice(caveats, "Caveats"),) if caveats else (),
        sections=(*(each for each in sections if each.blocks), method_facts(results), source_section(results)),
    )


def difference_plot(results: ComparisonResults) -> Section:
    measure = results.measures[0]
    caption = difference_caption("system", results.baseline)
    found = [(each.label, each.differences.get(measure)) for each in results.systems]
    rows = [ForestRow(label, d) for label, d in found if d and math.isfinite(d.low) and math.isfinite(d.high)]
    title, decimals = f"difference in {measure_name(measure)}", measure_decimals(results, measure)
    figure = Figure(f"differences-{measure}", lambda width: forest_plot(rows, title, decimals, width), caption)
    heading, blocks = f"Differences from {results.baseline}", (figure,) if rows else ()
    return Section("differences", "Differences", heading, "", blocks, first_screen=True)


def system_section(results: ComparisonResults) -> Section:
    measure = results.measures[0]
    decimals = measure_decimals(results, measure)
    columns = (
        Column("System", numeric=False),
        Column("Result", numeric=False, about=f"compared with {results.baseline}"),
        Column("Difference", about=f"from {results.baseline}, with its 95 % interval; above 0 is better"),
        Column("Mean ± sd", sort=sort_order(measure), about="over seeds, with the 95 % interval of the mean below"),
        Column("p", about="corrected for all comparisons with Holm's method"),
        Column("p alone", about="without the correction"),
        Column("p rows", about="permutation test over the rows alone: do these particular predictions differ?"),
    )
    table = []
    for each in results.systems:
        summary, d = each.summaries[measure], each.differences.get(measure)
        note = interval_text(summary.low, summary.high, decimals)
        label = Cell(each.label, each.label, note="the baseline" if each.label == results.baseline else "")
        more = (Cell(p_value(d.p), d.p), Cell(p_value(d.p_rows), d.p_rows)) if d else (EMPTY_CELL, EMPTY_CELL)
        score = Cell(plus_minus(summary, decimals), summary.mean, note=note)
        difference, result, p = difference_cells(d, decimals)
        table.append((label, result, difference, score, p, *more))
    lead = f"Means over seeds, the best first. ▲ and ▼ mark systems that are better or worse than {results.baseline}."
    name = measure_name(measure)
    return Section("results", "Results", "Results", lead, (Table(f"Systems by {name}", columns, tuple(table)),))


def seed_table(results: ComparisonResults) -> Section:
    measure = results.measures[0]
    decimals = measure_decimals(results, measure)
    columns = (
        Column("System", False),
        Column("Seed"),
        Column(measure_name(measure)),
        Column("File", False),
    )
    rows = tuple(
        (
            Cell(each.label, each.label),
            Cell(str(seed), seed),
            Cell(fixed(value, decimals), value),
            Cell(Path(each.runs[seed]).name, each.runs[seed]),
        )
        for each in results.systems
        for seed, value in each.summaries[measure].values.items()
    )
    return Section("seeds", "Seeds", "Every seed", "", (Table("The score of every file", columns, rows),))


def method_facts(results: ComparisonResults) -> Section:
    measure, seeds = results.measures[0], len(results.seeds)
    found = [each.differences[measure] for each in results.systems if measure in each.differences]
    effect = fixed(found[0].minimum_detectable_effect, measure_decimals(results, measure))
    covers = "the variation between seeds and the choice of rows (bootstrap)"
    pooled = (
        " The variance between seeds is pooled over all systems, because that of a few seeds says little; a system "
        "whose seeds differ more keeps its own."
    )
    if seeds == 1:
        covers, pooled = (
            "only the choice of rows (bootstrap): with one seed, the variation between seeds is unknown",
            "",
        )
    pairs = (
        (
            "Differences",
            f"A difference is a system's mean minus the mean of {results.baseline}, over as many seeds as both have. "
            f"Above 0 is better, also for errors. Its 95 % interval covers {covers}.{pooled}",
        ),
        (
            "Results",
            "The p values are corrected with Holm's method for all differences. “Better” and “worse” mean a corrected "
            "p below 0.05. Everything else is “no evidence of a difference”, which does not mean “equal”.",
        ),
        (
            "Minimum detectable effect",
            f"With these seeds and rows, a true difference of {effect} in {measure_name(measure)} would be detected "
            "four times in five. Smaller differences can hide behind “no evidence”.",
        ),
    )
    return Section("method", "Method", "How this was computed", "", (Facts(pairs),))


def source_section(results: ComparisonResults) -> Section:
    blocks: list[Block] = [Commands(results.commands)] if results.commands else []
    blocks += [Heading("Provenance"), Facts(tuple(results.provenance.items()), code=True)]
    return Section("reproduce", "Reproduce", "How to reproduce this", "", tuple(blocks))
