"""Findings -> the page of a comparison."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from minbert.comparison.results import WHOLE, Cost, Findings
from minbert.report import ranking, sharing
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
from minbert.report.charts.forest import Row, forest
from minbert.report.charts.lines import Series, lines
from minbert.report.charts.scatter import Point, scatter
from minbert.report.charts.strip import Row as Seeds
from minbert.report.charts.strip import strip
from minbert.report.method import method
from minbert.report.numbers import amount, octets, seconds
from minbert.report.words import (
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
    of: Callable[[Cost], float]
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


def comparison_page(findings: Findings) -> Page:
    colours = colours_of(findings)
    sections = (
        ranking.section(findings, colours),
        differences(findings),
        costs(findings, colours),
        curves(findings, colours),
        seeds(findings, colours),
        recipes(findings, colours),
        sharing.section(findings),
        Section("method", "Method", "How this was computed", "", (Facts(method(findings)),)),
        again(findings),
    )
    return Page(
        kind="Comparison",
        title=findings.title,
        headline=(*headline(findings), *cautions(findings)),
        facts=facts(findings),
        notices=notices(findings),
        sections=tuple(section for section in sections if section.blocks),
    )


def colours_of(findings: Findings) -> dict[str, str]:
    """The baseline in grey, the others in eight colours, dashed from the ninth on."""
    others = [each.label for each in findings.contestants if each.label != findings.baseline]
    colours = {label: f"s{i % 8 + 1}{' dashed' if i >= 8 else ''}" for i, label in enumerate(others)}
    return {findings.baseline: "s0", **colours}


def facts(findings: Findings) -> Facts:
    return Facts(
        (
            ("Recipes", str(len(findings.contestants))),
            ("Seeds", str(len(findings.seeds))),
            ("Tasks", ", ".join(findings.tasks)),
            ("Budget", findings.budget),
            ("Backbone", findings.backbone),
        )
    )


def notices(findings: Findings) -> tuple[Notice, ...]:
    """Trainings without a result and why, and what makes them less comparable."""
    pairs, gone = [], 0
    for each in findings.contestants:
        said = [f"seed {seed} failed: {reason or 'no reason is known'}" for seed, reason in each.failed.items()]
        if each.missing:
            seeds = "seed" if len(each.missing) == 1 else "seeds"
            said.append(f"{seeds} {', '.join(map(str, each.missing))} not trained yet")
        if said:
            pairs.append((each.label, "; ".join(said)))
        gone += len(each.failed) + len(each.missing)
    beside = [
        (label, "; ".join(f"seed {seed}: {reason or 'no reason is known'}" for seed, reason in seeds.items()))
        for label, seeds in findings.beside.items()
    ]
    shown = []
    if gone:
        what = f"{gone} of {count(len(findings.contestants) * len(findings.seeds), 'training')}"
        title = f"Incomplete: {what} {'has' if gone == 1 else 'have'} no result, so the ranking is of what there is."
        shown.append(Notice(title, (Facts(tuple(pairs)),)))
    if beside:
        shown.append(Notice("Incomplete: what shows whether sharing helps is not all there.", (Facts(tuple(beside)),)))
    if findings.reservations:
        shown.append(Notice("To be read with care", tuple(Words(each) for each in findings.reservations)))
    return tuple(shown)


def by_measure(findings: Findings, show: Callable[[str], tuple[Block, ...]]) -> tuple[Block, ...]:
    """The same picture of each measure, one at a time."""
    options = (Option(name, measure_name(name), show(name)) for name in measures_in_order(findings))
    return choose("measure", "Measure", options)


def differences(findings: Findings) -> Section:
    def show(measure: str) -> tuple[Block, ...]:
        found = [(each.label, each.differences.get(measure)) for each in findings.contestants]
        rows = [Row(label, d) for label, d in found if d and math.isfinite(d.low) and math.isfinite(d.high)]
        title, digits = f"difference in {measure_name(measure)}", decimals(findings, measure)
        caption = (
            f"Each dot is a recipe minus {findings.baseline}, with its 95 % interval: right of 0 is better. The shaded "
            "band is what this comparison could not reliably see; a true difference outside it would have been found "
            "at least four times in five. Filled dots have a verdict, hollow ones have none."
        )
        if not rows:
            return ()
        return (Figure(f"differences-{measure}", lambda width: forest(rows, title, digits, width), caption),)

    lead = f"How far each recipe is from {findings.baseline}, and how sure that is."
    return Section("differences", "Differences", f"Against {findings.baseline}", lead, by_measure(findings, show))


def costs(findings: Findings, colours: dict[str, str]) -> Section:
    measure = main_measure(findings)
    known = [
        (each, each.summaries[measure], each.cost)
        for each in findings.contestants
        if each.cost and measure in each.summaries and math.isfinite(each.summaries[measure].mean)
    ]
    digits = decimals(findings, measure)

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


def curves(findings: Findings, colours: dict[str, str]) -> Section:
    legend = tuple((each.label, colours[each.label]) for each in findings.contestants if each.curves)

    def show(measure: str) -> tuple[Block, ...]:
        # the baseline last, above the others
        found = sorted(findings.contestants, key=lambda each: each.label == findings.baseline)
        series = [Series(c.label, colours[c.label], c.curves[measure]) for c in found if measure in c.curves]
        title, digits = measure_name(measure), decimals(findings, measure)
        rows = "the dev rows"
        if findings.budget != WHOLE:
            rows = "a sample of the dev rows, by which the kept model is chosen (the tables are of all of them)"
        caption = f"Mean over seeds on {rows}; the band is one standard deviation to either side."
        if not series:
            return ()
        figure = Figure(f"curves-{measure}", lambda width: lines(series, title, digits, width), caption, legend)
        return (figure,)

    blocks = by_measure(findings, show)
    lead, hint = "How the scores grew over training.", "The legend shows and hides recipes."
    return Section("curves", "Curves", "Learning curves", lead, (Legend(legend), *blocks) if blocks else (), hint)


def seeds(findings: Findings, colours: dict[str, str]) -> Section:
    def show(measure: str) -> tuple[Block, ...]:
        found = [(each.label, each.summaries.get(measure)) for each in findings.contestants]
        rows = [Seeds(label, colours[label], each) for label, each in found if each and math.isfinite(each.mean)]
        title, digits = measure_name(measure), decimals(findings, measure)
        caption = "A dot is one training. The upright line is the mean; the pale bar is its 95 % interval over seeds."
        if not rows:
            return ()
        return (Figure(f"seeds-{measure}", lambda width: strip(rows, title, digits, width), caption),)

    blocks = by_measure(findings, show)
    lead = "What every single training reached: the spread that luck alone makes."
    return Section("seeds", "Seeds", "Every seed", lead, (*blocks, ranking.trainings(findings)) if blocks else ())


def recipes(findings: Findings, colours: dict[str, str]) -> Section:
    cards: list[Block] = []
    columns = (Column("Setting", False), Column(findings.baseline, False), Column("Here", False))
    for each in findings.contestants:
        if not each.changes:
            continue
        rows = tuple(tuple(Cell(words, words) for words in change) for change in each.changes)
        fold = "" if len(rows) <= FEW else f"{count(len(rows), 'setting')} of {each.label}"
        table = Table(f"What {each.label} changes", columns, rows, fold, sortable=False)
        cards.append(Card(each.label, each.about, colours[each.label], (table,)))
    lead = f"The settings in which each recipe differs from {findings.baseline}, as resolved."
    return Section("recipes", "Recipes", "What the recipes change", lead, (Beside(tuple(cards)),) if cards else ())


def again(findings: Findings) -> Section:
    blocks: list[Block] = [Commands(findings.commands)] if findings.commands else []
    if findings.provenance:
        blocks += [Heading("Provenance"), Facts(tuple(findings.provenance.items()), code=True)]
    return Section("again", "Again", "Make it again", "The commands that make these numbers.", tuple(blocks))
