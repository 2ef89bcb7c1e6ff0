"""Comparison results -> does sharing an encoder help? Single-task against multi-task training, transfer, gradients."""

from functools import partial

from minbert.comparison.results import NO_EVIDENCE, WHOLE, ComparisonResults, Transfer
from minbert.report.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Heading,
    Legend,
    Option,
    Paragraph,
    Section,
    SideBySide,
    Table,
    choice_of,
)
from minbert.report.charts.forest_plot import ForestRow, forest_plot
from minbert.report.charts.heatmap import Square, heatmap
from minbert.report.charts.line_chart import Series, line_chart
from minbert.report.number_format import decimals_for, interval_text, p_value, signed
from minbert.report.ranking_section import difference_cells, plus_minus
from minbert.report.sentences import METRIC_NAMES, join_names, standard_error
from minbert.report.series_styles import series_styles
from minbert.report.svg import Drawing

TRANSFER_KINDS = {
    "with": "Trained together: source and target in the same training run, minus the target alone.",
    "then": "Trained in sequence: first the source, then the target, minus the target alone.",
}


def transfer_section(results: ComparisonResults) -> Section:
    blocks = (*gain_blocks(results), *transfer_blocks(results), *cosine_blocks(results))
    return Section("sharing", "Sharing", "Does sharing help?", sharing_answer(results), blocks)


def sharing_answer(results: ComparisonResults) -> str:
    helped = [gain.task for gain in results.gains if gain.difference.result == "better"]
    harmed = [gain.task for gain in results.gains if gain.difference.result == "worse"]
    unclear = [gain.task for gain in results.gains if gain.difference.result == NO_EVIDENCE]
    said = []
    if helped:
        said.append(f"Training together helps {join_names(helped)}.")
    if harmed:
        said.append(f"Training together harms {join_names(harmed)}.")
    if unclear:
        said.append(f"For {join_names(unclear)} there is no evidence of a difference.")
    return " ".join(said)


def gain_blocks(results: ComparisonResults) -> tuple[Block, ...]:
    if not results.gains:
        return ()
    decimals = decimals_for(standard_error(gain.difference) for gain in results.gains)
    names = ("Task", "Alone", "Together", "Difference", "Result", "p")
    columns = tuple(Column(name, name not in ("Task", "Result")) for name in names)
    rows = tuple(
        (
            Cell(gain.task, gain.task, note=main_metric_name(results, gain.task)),
            *(Cell(plus_minus(each, decimals), each.mean) for each in (gain.alone, gain.together)),
            *difference_cells(gain.difference, decimals),
        )
        for gain in results.gains
    )
    forest_rows = [ForestRow(gain.task, gain.difference) for gain in results.gains]
    caption = "One model for all tasks minus one model per task, with 95 % intervals: right of 0, sharing helps."
    if results.budget != WHOLE:
        caption += (
            " Each single-task model has an equal share of the budget, so together they cost as much as the shared one."
        )
    title = "together minus alone"
    figure = Figure("sharing-gains", lambda width: forest_plot(forest_rows, title, decimals, width), caption)
    return Heading("Alone or together"), figure, Table("Each task alone and together", columns, rows)


def main_metric_name(results: ComparisonResults, task: str) -> str:
    metric = results.tasks[task].metric if task in results.tasks else ""
    return METRIC_NAMES.get(metric, metric)


def transfer_blocks(results: ComparisonResults) -> tuple[Block, ...]:
    found = {how: [each for each in results.transfers if each.how == how] for how in TRANSFER_KINDS}
    figures = tuple(
        Figure(f"transfer-{how}", partial(transfer_matrix, found[how], how), caption)
        for how, caption in TRANSFER_KINDS.items()
        if found[how]
    )
    if not figures:
        return ()
    said = "Rows are the source task, columns the target task. A frame marks a result of better or worse; without a "
    said += "frame there is no evidence of a difference."
    if results.budget != WHOLE:
        said += " Two tasks have two shares of the budget; the target alone has one."
    return Heading("Transfer between tasks"), Paragraph(said), SideBySide(figures), transfer_table(results)


def transfer_matrix(found: list[Transfer], how: str, width: float) -> Drawing:
    """Half as wide as other figures, because two are side by side."""
    decimals = decimals_for(standard_error(each.difference) for each in found)
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
        value = signed(d.value, decimals)
        tooltip = f"{each.source} {'with' if how == 'with' else 'then'} {each.target}: {value}"
        tooltip += f" {interval_text(d.low, d.high, decimals, sign=True)}\n{d.result}, corrected p"
        return Square(d.value / most, value, f"{tooltip} {p_value(d.corrected)}", strong=d.result != NO_EVIDENCE)

    squares = [[square(known.get((row, column))) for column in columns] for row in rows]
    return heatmap(rows, columns, squares, "source", "target", min(width, 470.0))


def transfer_table(results: ComparisonResults) -> Table:
    decimals = decimals_for(standard_error(each.difference) for each in results.transfers)
    names = ("Source", "Target", "How", "Difference", "Result", "p")
    columns = tuple(Column(name, name in ("Difference", "p")) for name in names)
    rows = tuple(
        (
            *(Cell(words, words) for words in (each.source, each.target, each.how)),
            *difference_cells(each.difference, decimals),
        )
        for each in results.transfers
    )
    return Table("Transfer between tasks", columns, rows, fold="Every transfer with its interval")


def cosine_blocks(results: ComparisonResults) -> tuple[Block, ...]:
    """The cosines between the tasks' gradients, one figure per system."""
    pairs = list(dict.fromkeys(pair for each in results.systems for pair in each.cosines))
    if not pairs:
        return ()
    styles = series_styles(map(pair_name, pairs))
    legend = tuple(styles.items())
    caption = (
        "The cosine between the gradients of two tasks in the shared encoder: above 0 the gradients point in similar "
        "directions, below 0 they conflict."
    )

    def figure(label: str, series: list[Series]) -> Figure:
        title = "cosine between gradients"
        return Figure(f"cosines-{label}", lambda width: line_chart(series, title, 2, width, zero=True), caption, legend)

    options = [
        Option((figure(each.label, series),), each.label, each.label)
        for each in results.systems
        if (series := [Series(pair_name(pair), styles[pair_name(pair)], curve) for pair, curve in each.cosines.items()])
    ]
    return Heading("Do the tasks' gradients conflict?"), Legend(legend), *choice_of("recipe", "Recipe", options)


def pair_name(pair: tuple[str, str]) -> str:
    return f"{pair[0]} and {pair[1]}"
