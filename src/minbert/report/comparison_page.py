"""Findings -> the page of a comparison."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from minbert.comparison.results import WHOLE, ComparisonResults, TrialCost
from minbert.report import ranking_section, transfer_section
from minbert.report.blocks import (
    Beside,
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
    Section,
    Table,
    Words,
    choose,
)
from minbert.report.charts.cost_scatter import Point, scatter
from minbert.report.charts.forest_plot import Row, forest
from minbert.report.charts.line_chart import Series, lines
from minbert.report.charts.strip_plot import Row as Seeds
from minbert.report.charts.strip_plot import strip
from minbert.report.method_section import method
from minbert.report.number_format import amount, octets, seconds
from minbert.report.sentences import (
    cautions,
    count,
    decimals,
    headline,
    main_measure,
    measure_name,
    measures_in_order,
    rising,
)

# as many settings as a reader takes in at a glance
FEW = 8


@dataclass(frozen=True)
class Price:
    name: str
    of: Callable[[TrialCost], float]
    write: Callable[[float], str]
    # for axes, the largest first
    units: tuple[tuple[float, str], ...]

    def unit(self, most: float) -> tuple[float, str]:
        return next((unit for unit in self.units if most >= unit[0]), self.units[-1])


THOUSANDS = ((1e9, "thousand millions"), (1e6, "millions"), (1e3, "thousands"), (1.0, ""))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
PRICES = (
    Price(
        "training time", lambda cost: cost.seconds, seconds, ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
    ),
    Price("tokens read", lambda cost: cost.tokens, amount, THOUSANDS),
    Price("parameters trained", lambda cost: cost.trainable, amount, THOUSANDS),
    Price("memory", lambda cost: cost.memory, octets, BYTES),
    Price("model size", lambda cost: cost.size, octets, BYTES),
)


def comparison_page(results: ComparisonResults) -> Page:
    colours = colours_of(results)
    sections = (
        ranking_section.section(results, colours),
        differences(results),
        costs(results, colours),
        curves(results, colours),
        seeds(results, colours),
        recipes(results, colours),
        transfer_section.section(results),
        Section("method", "Method", "How this was computed", "", (Facts(method(results)),)),
        again(results),
    )
    return Page(
        kind="Comparison",
        title=results.title,
        headline=(*headline(results), *cautions(results)),
        facts=facts(results),
        notices=notices(results),
        sections=tuple(section for section in sections if section.blocks),
    )


def colours_of(results: ComparisonResults) -> dict[str, str]:
    """The baseline in grey, the others in eight colours, dashed from the ninth on."""
    others = [each.label for each in results.systems if each.label != results.baseline]
    colours = {label: f"s{i % 8 + 1}{' dashed' if i >= 8 else ''}" for i, label in enumerate(others)}
    return {results.baseline: "s0", **colours}


def facts(results: ComparisonResults) -> Facts:
    return Facts(
        (
            ("Recipes", str(len(results.systems))),
            ("Seeds", str(len(results.seeds))),
            ("Tasks", ", ".join(results.tasks)),
            ("Budget", results.budget),
            ("Backbone", results.backbone),
        )
    )


def notices(results: ComparisonResults) -> tuple[Notice, ...]:
    """Trainings without a result and why, and what makes them less comparable."""
    pairs, gone = [], 0
    for each in results.systems:
        said = [f"seed {seed} failed: {reason or 'no reason is known'}" for seed, reason in each.failed.items()]
        if each.missing:
            seeds = "seed" if len(each.missing) == 1 else "seeds"
            said.append(f"{seeds} {', '.join(map(str, each.missing))} not trained yet")
        if said:
            pairs.append((each.label, "; ".join(said)))
        gone += len(each.failed) + len(each.missing)
    beside = [
        (label, "; ".join(f"seed {seed}: {reason or 'no reason is known'}" for seed, reason in seeds.items()))
        for label, seeds in results.beside.items()
    ]
    shown = []
    if gone:
        what = f"{gone} of {count(len(results.systems) * len(results.seeds), 'training')}"
        title = f"Incomplete: {what} {'has' if gone == 1 else 'have'} no result, so the ranking is of what there is."
        shown.append(Notice(title, (Facts(tuple(pairs)),)))
    if beside:
        shown.append(Notice("Incomplete: what shows whether sharing helps is not all there.", (Facts(tuple(beside)),)))
    if results.caveats:
        shown.append(Notice("To be read with care", tuple(Words(each) for each in results.caveats)))
    return tuple(shown)


def by_measure(results: ComparisonResults, show: Callable[[str], tuple[Block, ...]]) -> tuple[Block, ...]:
    """The same picture of each measure, one at a time."""
    options = (Option(name, measure_name(name), show(name)) for name in measures_in_order(results))
    return choose("measure", "Measure", options)


def differences(results: ComparisonResults) -> Section:
    def show(measure: str) -> tuple[Block, ...]:
        found = [(each.label, each.differences.get(measure)) for each in results.systems]
        rows = [Row(label, d) for label, d in found if d and math.isfinite(d.low) and math.isfinite(d.high)]
        title, digits = f"difference in {measure_name(measure)}", decimals(results, measure)
        caption = (
            f"Each dot is a recipe minus {results.baseline}, with its 95 % interval: right of 0 is better. The shaded "
            "band is what this comparison could not reliably see; a true difference outside it would have been found "
            "at least four times in five. Filled dots have a verdict, hollow ones have none."
        )
        if not rows:
            return ()
        return (Figure(f"differences-{measure}", lambda width: forest(rows, title, digits, width), caption),)

    lead = f"How far each recipe is from {results.baseline}, and how sure that is."
    return Section("differences", "Differences", f"Against {results.baseline}", lead, by_measure(results, show))


def costs(results: ComparisonResults, colours: dict[str, str]) -> Section:
    measure = main_measure(results)
    known = [
        (each, each.summaries[measure], each.cost)
        for each in results.systems
        if each.cost and measure in each.summaries and math.isfinite(each.summaries[measure].mean)
    ]
    digits = decimals(results, measure)

    def show(price: Price) -> tuple[Block, ...]:
        divisor, unit = price.unit(max((price.of(cost) for _, _, cost in known), default=0.0))
        points = [
            Point(
                each.label,
                colours[each.label],
                price.of(cost) / divisor,
                s.mean,
                s.low,
                s.high,
                price.write(price.of(cost)),
            )
            for each, s, cost in known
        ]
        caption = (
            "The line joins the recipes that nobody beats at the same cost or less: what lies "
            f"{'below' if rising(measure) else 'above'} it can be had cheaper or better. Whiskers are 95 % intervals "
            "over seeds."
        )
        if not points:
            return ()
        name = f"cost-{price.name.replace(' ', '-')}"
        across = f"{price.name}, {unit}" if unit else price.name
        score, more = measure_name(measure), rising(measure)
        return (Figure(name, lambda w: scatter(points, across, score, digits, w, rising=more), caption),)

    options = (Option(price.name, price.name, show(price)) for price in PRICES)
    return Section(
        "cost", "Cost", "Score against cost", "What each recipe's score costs.", choose("cost", "Cost", options)
    )


def curves(results: ComparisonResults, colours: dict[str, str]) -> Section:
    legend = tuple((each.label, colours[each.label]) for each in results.systems if each.curves)

    def show(measure: str) -> tuple[Block, ...]:
        # the baseline last, above the others
        found = sorted(results.systems, key=lambda each: each.label == results.baseline)
        series = [Series(c.label, colours[c.label], c.curves[measure]) for c in found if measure in c.curves]
        title, digits = measure_name(measure), decimals(results, measure)
        rows = "the dev rows"
        if results.budget != WHOLE:
            rows = "a sample of the dev rows, by which the kept model is chosen (the tables are of all of them)"
        caption = f"Mean over seeds on {rows}; the band is one standard deviation to either side."
        if not series:
            return ()
        figure = Figure(f"curves-{measure}", lambda width: lines(series, title, digits, width), caption, legend)
        return (figure,)

    blocks = by_measure(results, show)
    lead, hint = "How the scores grew over training.", "The legend shows and hides recipes."
    return Section("curves", "Curves", "Learning curves", lead, (Legend(legend), *blocks) if blocks else (), hint)


def seeds(results: ComparisonResults, colours: dict[str, str]) -> Section:
    def show(measure: str) -> tuple[Block, ...]:
        found = [(each.label, each.summaries.get(measure)) for each in results.systems]
        rows = [Seeds(label, colours[label], each) for label, each in found if each and math.isfinite(each.mean)]
        title, digits = measure_name(measure), decimals(results, measure)
        caption = "A dot is one training. The upright line is the mean; the pale bar is its 95 % interval over seeds."
        if not rows:
            return ()
        return (Figure(f"seeds-{measure}", lambda width: strip(rows, title, digits, width), caption),)

    blocks = by_measure(results, show)
    lead = "What every single training reached: the spread that luck alone makes."
    return Section(
        "seeds", "Seeds", "Every seed", lead, (*blocks, ranking_section.trainings(results)) if blocks else ()
    )


def recipes(results: ComparisonResults, colours: dict[str, str]) -> Section:
    cards: list[Block] = []
    columns = (Column("Setting", False), Column(results.baseline, False), Column("Here", False))
    for each in results.systems:
        if not each.changes:
            continue
        rows = tuple(tuple(Cell(words, words) for words in change) for change in each.changes)
        fold = "" if len(rows) <= FEW else f"{count(len(rows), 'setting')} of {each.label}"
        table = Table(f"What {each.label} changes", columns, rows, fold, sortable=False)
        cards.append(Card(each.label, each.about, colours[each.label], (table,)))
    lead = f"The settings in which each recipe differs from {results.baseline}, as resolved."
    return Section("recipes", "Recipes", "What the recipes change", lead, (Beside(tuple(cards)),) if cards else ())


def again(results: ComparisonResults) -> Section:
    blocks: list[Block] = [Commands(results.commands)] if results.commands else []
    if results.provenance:
        blocks += [Heading("Provenance"), Facts(tuple(results.provenance.items()), code=True)]
    return Section("again", "Again", "Make it again", "The commands that make these numbers.", tuple(blocks))
