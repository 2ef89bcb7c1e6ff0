"""Findings -> the tables of scores, differences and costs."""

from urllib.parse import quote

from minbert.comparison.results import ComparisonResults, ScoreDifference, Summary, System
from minbert.report.blocks import Block, Cell, Column, Option, Section, Table, choose
from minbert.report.number_format import NOTHING, amount, between, chance, fixed, octets, percent, seconds, signed
from minbert.report.sentences import (
    SYMBOLS,
    TONES,
    decimals,
    main_measure,
    measure_name,
    measures_in_order,
    rising,
)

EMPTY = Cell(NOTHING)


def section(results: ComparisonResults, colours: dict[str, str]) -> Section:
    lead = (
        f"{'' if results.complete else 'Incomplete. '}Means over seeds on the dev rows, the best first. "
        f"▲ and ▼ mark a verdict against {results.baseline}."
    )
    options = (
        Option(measure, measure_name(measure), (detail(results, measure, colours),))
        for measure in measures_in_order(results)
    )
    blocks: list[Block] = [overview(results, colours)] if len(measures_in_order(results)) > 1 else []
    blocks += [*choose("measure", "Measure", options), numbers(results)]
    known = any(each.summaries for each in results.systems)
    hint = "Columns sort by a click."
    return Section("results", "Results", "Results", lead, tuple(blocks) if known else (), hint)


def overview(results: ComparisonResults, colours: dict[str, str]) -> Table:
    """All measures at a glance."""
    measures = measures_in_order(results)
    columns = (
        Column("Recipe", numeric=False),
        *(Column(measure_name(m), sort=order(m) if m == measures[0] else "") for m in measures),
    )
    rows = tuple(
        (recipe_cell(each, results, colours), *(glance(each, measure, results) for measure in measures))
        for each in results.systems
    )
    return Table("All measures", columns, rows)


def order(measure: str) -> str:
    return "descending" if rising(measure) else "ascending"


def recipe_cell(each: System, results: ComparisonResults, colours: dict[str, str]) -> Cell:
    note = each.about
    if each.label == results.baseline != "baseline":
        note = f"the baseline: {note}" if note else "the baseline"
    return Cell(each.label, each.label, note=note, colour=colours[each.label])


def glance(each: System, measure: str, results: ComparisonResults) -> Cell:
    digits = decimals(results, measure)
    summary, difference = each.summaries.get(measure), each.differences.get(measure)
    if not summary:
        return EMPTY
    note = "" if not difference else f"{SYMBOLS.get(difference.result, '')} {signed(difference.value, digits)}".strip()
    return Cell(plus_minus(summary, digits), summary.mean, note=note, tone=tone_of(difference))


def tone_of(difference: ScoreDifference | None) -> str:
    return TONES.get(difference.result, "unclear") if difference else ""


def plus_minus(summary: Summary, digits: int) -> str:
    mean = fixed(summary.mean, digits)
    return mean if summary.sd is None else f"{mean} ± {fixed(summary.sd, digits)}"


def detail(results: ComparisonResults, measure: str, colours: dict[str, str]) -> Table:
    """One measure with all that belongs to it."""
    digits = decimals(results, measure)
    columns = (
        Column("Recipe", numeric=False),
        Column("Mean ± sd", sort=order(measure), about="over seeds, with the 95 % interval of the mean below"),
        Column(f"Against {results.baseline}", about="with its 95 % interval; above 0 is better"),
        Column("Verdict", numeric=False),
        Column("p", about="corrected for all comparisons by Holm's method"),
        Column("Time", about="of training"),
        Column("Tokens", about="read in training"),
        Column("Trained", about="parameters that learned in at least one stage"),
        Column("Memory", about="of the process at its largest"),
        Column("Size", about="of the saved model"),
    )
    found = [each for each in results.systems if measure in each.summaries]
    found.sort(key=lambda each: each.summaries[measure].mean, reverse=rising(measure))
    rest = [each for each in results.systems if measure not in each.summaries]
    rows = tuple((recipe_cell(each, results, colours), *cells(each, measure, digits)) for each in [*found, *rest])
    return Table(f"In detail: {measure_name(measure)}", columns, rows)


def cells(each: System, measure: str, digits: int) -> tuple[Cell, ...]:
    summary = each.summaries.get(measure)
    score = EMPTY
    if summary:
        note = between(summary.low, summary.high, digits)
        score = Cell(plus_minus(summary, digits), summary.mean, note=note)
    return (score, *difference_cells(each.differences.get(measure), digits), *cost_cells(each))


def difference_cells(d: ScoreDifference | None, digits: int) -> tuple[Cell, Cell, Cell]:
    """Value with interval, verdict, corrected p."""
    if d is None:
        return EMPTY, EMPTY, EMPTY
    tone = tone_of(d)
    rank = {"better": 1.0, "worse": -1.0}.get(tone, 0.0)
    return (
        Cell(signed(d.value, digits), d.value, note=between(d.low, d.high, digits, sign=True)),
        Cell(
            f"{SYMBOLS.get(d.result, '')} {d.result}".strip(),
            rank,
            tone=tone,
            chip=True,
        ),
        Cell(chance(d.corrected), d.corrected),
    )


def cost_cells(each: System) -> tuple[Cell, ...]:
    cost = each.cost
    if cost is None:
        return (EMPTY,) * 5
    return (
        Cell(seconds(cost.seconds), cost.seconds, note=f"{amount(cost.steps)} steps"),
        Cell(amount(cost.tokens), cost.tokens),
        Cell(amount(cost.trainable), cost.trainable, note=f"of {amount(cost.total)}"),
        Cell(octets(cost.memory), cost.memory),
        Cell(octets(cost.size), cost.size),
    )


def numbers(results: ComparisonResults) -> Table:
    """For those who want all of it."""
    names = ("Measure", "Difference", "p", "p corrected", "p rows", "Smallest detectable", "Effect d", "Errors removed")
    about = {
        "p rows": "are these very models different? randomization over dev rows alone",
        "Smallest detectable": "the smallest true difference that would have been found four times in five",
        "Effect d": "Cohen's d over seeds",
    }
    columns = (Column("Recipe", False), *(Column(name, name != "Measure", about=about.get(name, "")) for name in names))
    rows = []
    for each in results.systems:
        for measure in measures_in_order(results):
            if d := each.differences.get(measure):
                name, digits = measure_name(measure), decimals(results, measure)
                ends = between(d.low, d.high, digits, sign=True)
                rows.append(
                    (
                        Cell(each.label, each.label),
                        Cell(name, name),
                        Cell(f"{signed(d.value, digits)} {ends}", d.value),
                        *(Cell(chance(p), p) for p in (d.p, d.corrected, d.p_rows)),
                        Cell(fixed(d.minimum_detectable_effect, digits), d.minimum_detectable_effect),
                        Cell(fixed(d.effect, 2), d.effect),
                        Cell(percent(d.errors_removed, 1), d.errors_removed),
                    )
                )
    return Table("Every difference", columns, tuple(rows), fold="Every number of every difference")


def trainings(results: ComparisonResults) -> Table:
    """Recipe by seed: the main score, with a way to the run's folder."""
    measure = main_measure(results)
    digits = decimals(results, measure)
    columns = (Column("Recipe", numeric=False), *(Column(f"Seed {seed}") for seed in results.seeds))
    rows = []
    for each in results.systems:
        found = each.summaries[measure].values if measure in each.summaries else {}
        line = [Cell(each.label, each.label)]
        for seed in results.seeds:
            if seed in found:
                link = quote(each.runs[seed]) if each.runs.get(seed) else ""
                line.append(Cell(fixed(found[seed], digits), found[seed], link=link))
            else:
                line.append(Cell("failed" if seed in each.failed else "missing", tone="worse", chip=True))
        rows.append(tuple(line))
    return Table(
        f"Every training: {measure_name(measure)}",
        columns,
        tuple(rows),
        fold="Every training and its folder",
    )
