"""Comparison results -> the page of a comparison."""

import math
from collections.abc import Callable, Mapping

from minbert.comparison.labels import with_short_labels
from minbert.comparison.results import ComparisonResults
from minbert.plural import plural
from minbert.report.blocks import (
    Block,
    Card,
    Cell,
    Column,
    Commands,
    Facts,
    Figure,
    Heading,
    Legend,
    Notice,
    Option,
    Page,
    Paragraph,
    Section,
    SideBySide,
    Table,
    choice_of,
)
from minbert.report.charts.forest_plot import ForestRow, forest_plot
from minbert.report.charts.line_chart import Series, line_chart
from minbert.report.charts.strip_plot import StripRow, strip_plot
from minbert.report.control_rows import FOREST_CAPTION, control_systems
from minbert.report.control_sentences import control_sentences
from minbert.report.cost_section import cost_section
from minbert.report.method_section import method_section
from minbert.report.ranking_section import ranking_section, training_run_table
from minbert.report.selection_sentences import choosing_rows
from minbert.report.sentences import (
    cautions,
    comparison_headline,
    difference_caption,
    measure_decimals,
    measure_name,
    measures_in_order,
)
from minbert.report.series_styles import SeriesStyle, series_styles
from minbert.report.transfer_section import transfer_section

# a card with more settings than this is collapsed
FEW_SETTINGS = 8


def comparison_page(full: ComparisonResults) -> Page:
    results = with_short_labels(full)
    styles = series_styles((each.label for each in results.systems), results.baseline)
    sections = (
        difference_section(results),
        ranking_section(results, styles),
        cost_section(results, styles),
        curve_section(results, styles),
        seed_section(results, styles),
        recipe_section(results, styles),
        transfer_section(results),
        method_section(results),
        reproduction_section(results),
    )
    return Page(
        kind="Comparison",
        title=results.title,
        headline=(*comparison_headline(results), *cautions(results), *control_sentences(results)),
        facts=comparison_facts(results),
        notices=comparison_notices(results),
        sections=tuple(section for section in sections if section.blocks),
    )


def comparison_facts(results: ComparisonResults) -> Facts:
    return Facts(
        (
            ("Recipes", str(len(results.systems))),
            ("Seeds", str(len(results.seeds))),
            ("Tasks", ", ".join(results.tasks)),
            ("Budget", results.budget),
            ("Backbone", results.backbone),
        )
    )


def comparison_notices(results: ComparisonResults) -> tuple[Notice, ...]:
    """Training runs without a result and the reasons, then the caveats."""
    pairs, missing = [], 0
    for each in results.systems:
        said = [f"{failed_seeds(each.failed, ' failed')}"] if each.failed else []
        if each.missing:
            seeds = "seed" if len(each.missing) == 1 else "seeds"
            said.append(f"{seeds} {', '.join(map(str, each.missing))} not trained yet")
        if said:
            pairs.append((each.label, "; ".join(said)))
        missing += len(each.failed) + len(each.missing)
    found = []
    if missing:
        runs = f"{missing} of {plural(len(results.systems) * len(results.seeds), 'training run')}"
        title = f"Incomplete: {runs} {'has' if missing == 1 else 'have'} no result. The ranking uses the rest."
        found.append(Notice((Facts(tuple(pairs)),), title))
    if results.beside:
        beside = Facts(tuple((label, failed_seeds(seeds)) for label, seeds in results.beside.items()))
        found.append(
            Notice((beside,), "Incomplete: some training runs that show whether sharing helps have no result.")
        )
    if results.caveats:
        found.append(Notice(tuple(Paragraph(each) for each in results.caveats), "Caveats"))
    return tuple(found)


def failed_seeds(seeds: Mapping[int, str], failed: str = "") -> str:
    return "; ".join(f"seed {seed}{failed}: {reason or 'unknown reason'}" for seed, reason in seeds.items())


def choice_of_measure(results: ComparisonResults, figure: Callable[[str], Figure | None]) -> tuple[Block, ...]:
    """The same figure for each measure, one at a time."""
    drawn = {measure: figure(measure) for measure in measures_in_order(results)}
    options = (Option((each,), measure, measure_name(measure)) for measure, each in drawn.items() if each)
    return choice_of("measure", "Measure", options)


def difference_section(results: ComparisonResults) -> Section:
    caption = difference_caption("recipe", results.baseline) + (FOREST_CAPTION if results.controls else "")

    def figure(measure: str) -> Figure | None:
        shown = (*results.systems, *control_systems(results))
        found = [(each.label, each.differences.get(measure)) for each in shown]
        rows = [ForestRow(label, d) for label, d in found if d and math.isfinite(d.low) and math.isfinite(d.high)]
        title, decimals = f"difference in {measure_name(measure)}", measure_decimals(results, measure)
        if not rows:
            return None
        return Figure(f"differences-{measure}", lambda width: forest_plot(rows, title, decimals, width), caption)

    title, blocks = f"Differences from {results.baseline}", choice_of_measure(results, figure)
    return Section("differences", "Differences", title, "", blocks, first_screen=True)


def curve_section(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Section:
    legend = tuple((each.label, styles[each.label]) for each in results.systems if each.curves)
    caption = f"Mean over seeds on {choosing_rows(results)}; the band is one standard deviation on either side."

    def figure(measure: str) -> Figure | None:
        # the baseline last, so that it is drawn on top
        found = sorted(results.systems, key=lambda each: each.label == results.baseline)
        series = [Series(c.label, styles[c.label], c.curves[measure]) for c in found if measure in c.curves]
        title, decimals = measure_name(measure), measure_decimals(results, measure)
        if not series:
            return None
        return Figure(f"curves-{measure}", lambda width: line_chart(series, title, decimals, width), caption, legend)

    blocks = choice_of_measure(results, figure)
    lead, hint = "Scores during training.", "Click the legend to show or hide a recipe."
    return Section("curves", "Curves", "Learning curves", lead, (Legend(legend), *blocks) if blocks else (), hint)


def seed_section(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Section:
    caption = (
        "Each mark is one training run. The vertical line is the mean; the light bar is its 95 % interval over seeds."
    )

    def figure(measure: str) -> Figure | None:
        found = [(each.label, each.summaries.get(measure)) for each in results.systems]
        rows = [StripRow(label, styles[label], each) for label, each in found if each and math.isfinite(each.mean)]
        title, decimals = measure_name(measure), measure_decimals(results, measure)
        if not rows:
            return None
        return Figure(f"seeds-{measure}", lambda width: strip_plot(rows, title, decimals, width), caption)

    blocks = choice_of_measure(results, figure)
    lead = "The score of every training run. Runs of the same recipe differ only in their seed."
    return Section("seeds", "Seeds", "Every seed", lead, (*blocks, training_run_table(results)) if blocks else ())


def recipe_section(results: ComparisonResults, styles: Mapping[str, SeriesStyle]) -> Section:
    cards: list[Block] = []
    columns = (Column("Setting", False), Column(results.baseline, False), Column("This recipe", False))
    for each in results.systems:
        if not each.changes:
            continue
        rows = tuple(tuple(Cell(words, words) for words in change) for change in each.changes)
        fold = "" if len(rows) <= FEW_SETTINGS else f"{plural(len(rows), 'setting')} of {each.label}"
        table = Table(f"What {each.label} changes", columns, rows, fold, sortable=False)
        cards.append(Card((table,), each.label, each.about, styles[each.label]))
    lead = f"The settings in which each resolved recipe differs from {results.baseline}."
    blocks = (SideBySide(tuple(cards)),) if cards else ()
    return Section("recipes", "Recipes", "What the recipes change", lead, blocks)


def reproduction_section(results: ComparisonResults) -> Section:
    blocks: list[Block] = [Commands(results.commands)] if results.commands else []
    if results.provenance:
        blocks += [Heading("Provenance"), Facts(tuple(results.provenance.items()), code=True)]
    lead = "The commands that produced these numbers."
    return Section("reproduce", "Reproduce", "How to reproduce this", lead, tuple(blocks))
