"""Findings -> does sharing an encoder help? Tasks alone and together, what each does for the others, gradients."""

from functools import partial

from minbert.comparison.results import NO_EVIDENCE, WHOLE, ComparisonResults, Transfer
from minbert.report.blocks import (
    Beside,
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Legend,
    Option,
    Section,
    Table,
    Words,
    choose,
)
from minbert.report.charts.forest_plot import Row, forest
from minbert.report.charts.heatmap import Square, heatmap
from minbert.report.charts.line_chart import Series, lines
from minbert.report.number_format import between, chance, places, signed
from minbert.report.ranking_section import difference_cells, plus_minus
from minbert.report.sentences import METRICS, listed
from minbert.report.svg import Drawing

HOW = {
    "with": ("Trained with", "the source in the same training, beside the target alone"),
    "then": ("Trained before", "the source first and then the target, beside the target alone"),
}


def section(results: ComparisonResults) -> Section:
    blocks = (*gains(results), *transfers(results), *cosines(results))
    return Section("sharing", "Sharing", "Does sharing help?", answer(results), blocks)


def answer(results: ComparisonResults) -> str:
    """In words, from the verdicts."""
    helped = [gain.task for gain in results.gains if gain.difference.result == "better"]
    harmed = [gain.task for gain in results.gains if gain.difference.result == "worse"]
    unclear = [gain.task for gain in results.gains if gain.difference.result == NO_EVIDENCE]
    said = []
    if helped:
        said.append(f"Training together helps {listed(helped)}.")
    if harmed:
        said.append(f"Training together harms {listed(harmed)}.")
    if unclear:
        said.append(f"For {listed(unclear)} there is no evidence of a difference.")
    return " ".join(said)


def gains(results: ComparisonResults) -> tuple[Block, ...]:
    if not results.gains:
        return ()
    digits = places((gain.difference.high - gain.difference.low) / 4 for gain in results.gains)
    columns = ("Task", "Alone", "Together", "Difference", "Verdict", "p")
    rows = tuple(
        (
            Cell(gain.task, gain.task, note=metric_of(results, gain.task)),
            *(Cell(plus_minus(each, digits), each.mean) for each in (gain.alone, gain.together)),
            *difference_cells(gain.difference, digits),
        )
        for gain in results.gains
    )
    table = Table(
        "Each task alone and together", tuple(Column(name, name not in ("Task", "Verdict")) for name in columns), rows
    )
    bars = [Row(gain.task, gain.difference) for gain in results.gains]
    caption = "All tasks in one model minus a model for each task, with 95 % intervals: right of 0, sharing helps."
    if results.budget != WHOLE:
        caption += " Alone, a task was given its equal part of the budget, so all of them cost what the one model does."
    figure = Figure("sharing-gains", lambda width: forest(bars, "together minus alone", digits, width), caption)
    return Heading("Alone or together"), figure, table


def metric_of(results: ComparisonResults, task: str) -> str:
    metric = results.tasks[task].metric if task in results.tasks else ""
    return METRICS.get(metric, metric)


def transfers(results: ComparisonResults) -> tuple[Block, ...]:
    found = {how: [each for each in results.transfers if each.how == how] for how in HOW}
    figures = tuple(
        Figure(f"transfer-{how}", partial(matrix, found[how], how), f"{HOW[how][0]}: {HOW[how][1]}.")
        for how in HOW
        if found[how]
    )
    if not figures:
        return ()
    said = "Rows are the source, columns the target. A frame marks a verdict; without one, there is no evidence."
    if results.budget != WHOLE:
        said += " Two tasks were given two parts of the budget, the target alone one."
    lead = Words(said)
    return Heading("What each task does for the others"), lead, Beside(figures), transfer_table(results)


def matrix(found: list[Transfer], how: str, width: float) -> Drawing:
    """Half as wide as other figures, since two stand side by side."""
    digits = places((each.difference.high - each.difference.low) / 4 for each in found)
    sources = list(dict.fromkeys(each.source for each in found))
    targets = list(dict.fromkeys(each.target for each in found))
    names = [*sources, *(target for target in targets if target not in sources)]
    rows, columns = [n for n in names if n in sources], [n for n in names if n in targets]
    most = max(abs(each.difference.value) for each in found) or 1.0
    known = {(each.source, each.target): each for each in found}

    def square(each: Transfer | None) -> Square | None:
        if each is None:
            return None
        d = each.difference
        words = signed(d.value, digits)
        tip = f"{each.source} {'with' if how == 'with' else 'then'} {each.target}: {words}"
        tip += f" {between(d.low, d.high, digits, sign=True)}\n{d.result}, corrected p {chance(d.corrected)}"
        return Square(d.value / most, words, tip, strong=d.result != NO_EVIDENCE)

    squares = [[square(known.get((row, column))) for column in columns] for row in rows]
    return heatmap(rows, columns, squares, "source", "target", min(width, 470.0))


def transfer_table(results: ComparisonResults) -> Table:
    digits = places((each.difference.high - each.difference.low) / 4 for each in results.transfers)
    names = ("Source", "Target", "How", "Difference", "Verdict", "p")
    columns = tuple(Column(name, name in ("Difference", "p")) for name in names)
    rows = tuple(
        (
            *(Cell(words, words) for words in (each.source, each.target, each.how)),
            *difference_cells(each.difference, digits),
        )
        for each in results.transfers
    )
    return Table("Transfer between tasks", columns, rows, fold="Every transfer with its interval")


def cosines(results: ComparisonResults) -> tuple[Block, ...]:
    """How far the tasks pull the encoder the same way, a picture a recipe."""
    pairs = list(dict.fromkeys(pair for each in results.systems for pair in each.cosines))
    if not pairs:
        return ()
    colours = {pair: f"s{i % 8 + 1}{' dashed' if i >= 8 else ''}" for i, pair in enumerate(pairs)}
    legend = tuple((name_of(pair), colours[pair]) for pair in pairs)
    caption = (
        "The cosine between two tasks' gradients in the shared encoder: above 0 they pull the same way, "
        "below 0 against each other."
    )

    def show(label: str, series: list[Series]) -> Figure:
        title = "cosine between gradients"
        return Figure(f"cosines-{label}", lambda w: lines(series, title, 2, w, zero=True), caption, legend)

    options = [
        Option(each.label, each.label, (show(each.label, series),))
        for each in results.systems
        if (series := [Series(name_of(pair), colours[pair], curve) for pair, curve in each.cosines.items()])
    ]
    return Heading("Do the tasks pull the same way?"), Legend(legend), *choose("recipe", "Recipe", options)


def name_of(pair: tuple[str, str]) -> str:
    return f"{pair[0]} and {pair[1]}"
