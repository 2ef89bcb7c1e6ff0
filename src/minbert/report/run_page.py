"""The error analysis of a run -> its page: where and how it is wrong, task by task."""

from minbert.analysis.calibration import Calibration
from minbert.analysis.classification import ClassificationAnalysis
from minbert.analysis.disagreement import Disagreement
from minbert.analysis.leaks import Leaks
from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis
from minbert.analysis.slices import Slice
from minbert.data.metrics import direction
from minbert.plural import plural
from minbert.report.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Heading,
    Notice,
    Page,
    Paragraph,
    Section,
    SideBySide,
    Table,
)
from minbert.report.charts.gold_scatter import gold_scatter
from minbert.report.charts.heatmap import Square, heatmap
from minbert.report.charts.reliability_diagram import reliability_diagram
from minbert.report.number_format import fixed, interval_text, p_value, percentage, signed
from minbert.report.row_explorers import disagreement_explorer, hardest_rows_explorer
from minbert.report.sentences import METRIC_NAMES, join_names
from minbert.report.svg import Drawing

SLICE_NAMES = {"words": "number of words", "overlap": "word overlap", "label": "label", "tag": "tag"}


def run_page(analysis: RunAnalysis) -> Page:
    tasks = analysis.tasks
    notes = [*analysis.notes, *dict.fromkeys(words for found in tasks.values() for words in found.leaks.unread)]
    other = (("Compared with", analysis.other),) if analysis.other else ()
    return Page(
        kind="Error analysis",
        title=analysis.run,
        headline=run_headline(analysis),
        facts=Facts(
            (
                ("Tasks", ", ".join(tasks)),
                ("Dev rows", f"{sum(found.rows for found in tasks.values()):,}"),
                *other,
            )
        ),
        notices=(Notice(tuple(Paragraph(note) for note in notes), "Caveats"),) if notes else (),
        sections=(
            score_section(analysis),
            *(task_section(i, name, found, analysis) for i, (name, found) in enumerate(tasks.items())),
        ),
    )


def run_headline(analysis: RunAnalysis) -> tuple[str, ...]:
    """The main scores; with a second run, those of both."""
    said = []
    if len(analysis.tasks) > 1:
        scores = both_scores(analysis, analysis.overall, analysis.other_overall)
        said.append(f"Overall score {scores} on {plural(len(analysis.tasks), 'task')}.")
    for name, found in analysis.tasks.items():
        metric = found.task.metric
        other = None if found.other_scores is None else found.other_scores[metric]
        scores = both_scores(analysis, found.scores[metric], other)
        constant = fixed(found.baseline.scores[metric], 3)
        said.append(f"{name}: {METRIC_NAMES.get(metric, metric)} {scores} (constant prediction: {constant}).")
    return tuple(said)


def both_scores(analysis: RunAnalysis, own: float, other: float | None) -> str:
    if other is None or analysis.other is None:
        return fixed(own, 3)
    return f"{fixed(own, 3)} for {analysis.run} and {fixed(other, 3)} for {analysis.other}"


def score_section(analysis: RunAnalysis) -> Section:
    runs = [analysis.run, analysis.other] if analysis.other else ["This run"]
    columns = (
        *(Column(name, False) for name in ("Task", "Metric")),
        *map(Column, (*runs, "Constant prediction")),
    )

    def cells(name: str, found: TaskAnalysis, metric: str) -> tuple[Cell, ...]:
        words = METRIC_NAMES.get(metric, metric)
        sources = [found.scores, found.other_scores or {}] if analysis.other else [found.scores]
        values = [each.get(metric) for each in (*sources, found.baseline.scores)]
        return Cell(name, name), Cell(words, words), *(Cell(fixed(value, 3), value) for value in values)

    tasks = analysis.tasks.items()
    rows = tuple((*cells(name, found, found.task.metric), Cell(f"{found.rows:,}", found.rows)) for name, found in tasks)
    every = tuple(cells(name, found, metric) for name, found in tasks for metric in found.scores)
    lead = "The scores of this run, next to those of the best constant prediction, which ignores the texts."
    blocks = (
        Table("Main metrics on the dev rows", (*columns, Column("Dev rows")), rows),
        Table("All metrics on the dev rows", columns, every, fold="All metrics"),
    )
    return Section("scores", "Scores", "Scores", lead, blocks)


def task_section(i: int, name: str, found: TaskAnalysis, analysis: RunAnalysis) -> Section:
    blocks: list[Block] = []
    if found.classification:
        blocks += classification_blocks(name, found.classification)
    if found.regression:
        blocks += regression_blocks(name, found)
    if found.slices:
        blocks += [Heading("Slices"), *slice_blocks(found.slices)]
    if found.hardest_rows:
        blocks += [Heading("Hardest rows"), *hardest_rows_explorer(found)]
    if found.disagreement and analysis.other:
        blocks += disagreement_blocks(found.disagreement, found, (analysis.run, analysis.other))
    blocks += leak_blocks(found.leaks, found.rows)
    lead = f"{found.rows:,} dev rows. {found.task.about}".strip()
    return Section(f"task-{i + 1}", name, name, lead, tuple(blocks))


def classification_blocks(name: str, found: ClassificationAnalysis) -> list[Block]:
    labels = [each.label for each in found.labels]

    def matrix(width: float) -> Drawing:
        squares = []
        for label, row in zip(labels, found.confusion, strict=True):
            total = sum(row) or 1
            squares.append([confusion_square(label, labels[j], rows, rows / total) for j, rows in enumerate(row)])
        return heatmap(labels, labels, squares, "label", "prediction", min(width, 470.0))

    caption = (
        "Confusion matrix: gold labels against predictions; a stronger color is a larger fraction of the row. "
        f"Matthews correlation {fixed(found.matthews, 3)}."
    )
    calibration = found.calibration
    reliability = calibration_text(calibration)
    figures = (
        Figure(f"confusion-{name}", matrix, caption),
        Figure(f"reliability-{name}", lambda width: reliability_diagram(calibration, width), reliability),
    )
    names = ("Label", "Precision", "Recall", "F1", "Rows", "Predictions")
    rows = tuple(
        (
            Cell(each.label, each.label),
            *(Cell(fixed(x, 3), x, bar=x) for x in (each.precision, each.recall, each.f1)),
            *(Cell(f"{n:,}", n) for n in (each.support, each.predicted)),
        )
        for each in found.labels
    )
    columns = tuple(Column(column, column != "Label") for column in names)
    return [SideBySide(figures), Table("Scores by label", columns, rows)]


def calibration_text(found: Calibration) -> str:
    said = "Reliability diagram: on the line, accuracy equals confidence; the bars are fractions of the predictions. "
    said += f"Expected calibration error {percentage(found.ece, 1)}; "
    said += f"mean confidence minus accuracy {signed(found.overconfidence * 100, 1)} points."
    if found.temperature is not None:
        # the temperature minimizes log loss, which may leave the calibration error as it is
        losses = f"from {fixed(found.log_loss, 3)} to {fixed(found.scaled_log_loss, 3)}"
        said += f" Dividing the logits by {fixed(found.temperature, 2)} would change the log loss {losses} and the"
        said += f" calibration error to {percentage(found.scaled_ece, 1)}, fitted and measured on these same rows."
    return said


def confusion_square(label: str, prediction: str, rows: int, fraction: float) -> Square:
    tooltip = f"{label} predicted as {prediction}: {rows:,} rows, {percentage(fraction)} of the rows with this label"
    correct = label == prediction
    return Square(fraction if correct else -fraction, f"{rows:,}", tooltip, strong=correct)


def regression_blocks(name: str, found: TaskAnalysis) -> list[Block]:
    scores = found.regression
    assert scores is not None
    low, high = found.task.range
    said = "Each dot is a row; on the line, the prediction equals the gold score. "
    said += f"Mean error {signed(scores.bias, 2)}."
    if scores.spread_ratio is not None:
        said += f" The standard deviation of the predictions is {fixed(scores.spread_ratio, 2)} times that of gold:"
        said += " below 1, the model avoids extreme scores."
    figure = Figure(f"predictions-{name}", lambda width: gold_scatter(scores.points, (low, high), width), said)
    columns = (Column("Gold score", False), Column("Rows"), Column("Mean error"), Column("Absolute error"))
    most = max((fifth.mae or 0.0 for fifth in scores.fifths), default=0.0) or 1.0
    rows = tuple(
        (
            Cell(f"{fifth.low:g} to {fifth.high:g}", fifth.low),
            Cell(f"{fifth.rows:,}", fifth.rows),
            Cell(signed(fifth.bias, 2), fifth.bias),
            Cell(fixed(fifth.mae, 2), fifth.mae, bar=None if fifth.mae is None else fifth.mae / most),
        )
        for fifth in scores.fifths
    )
    return [SideBySide((figure, Table("Errors by gold score", columns, rows)))]


def slice_blocks(found: tuple[Slice, ...]) -> tuple[Block, ...]:
    columns = (
        Column("Slice", False),
        Column("Score"),
        Column("95 % interval", False),
        Column("Result", False),
        Column("All rows", about="the same metric on all rows"),
        Column("Rows"),
        Column("Metric", False),
    )
    rows = []
    for each in sorted(found, key=lambda each: not each.worse):
        most = max(other.score for other in found if other.metric == each.metric)
        tone, metric = "worse" if each.worse else "", METRIC_NAMES.get(each.metric, each.metric)
        rows.append(
            (
                Cell(each.name, each.name, note=SLICE_NAMES.get(each.kind, each.kind)),
                Cell(fixed(each.score, 3), each.score, bar=score_bar(each, most), tone=tone),
                Cell(interval_text(each.low, each.high, 3), each.low),
                Cell("▼ worse", 1.0, tone=tone, chip=True) if each.worse else Cell("", 0.0),
                Cell(fixed(each.all_rows, 3), each.all_rows),
                Cell(f"{each.rows:,}", each.rows),
                Cell(metric, metric),
            )
        )
    worse = [f"{SLICE_NAMES.get(each.kind, each.kind)} {each.name}" for each in found if each.worse]
    said = f"Worse than all rows: {join_names(worse)}." if worse else "No slice is clearly worse than all rows."
    chance = "By chance alone, about one slice in forty is marked as worse."
    return Paragraph(f"{said} {chance}"), Table("Slices", columns, tuple(rows))


def score_bar(each: Slice, most: float) -> float:
    """A full bar is a score of 1, or the largest error."""
    return max(0.0, min(1.0, each.score if direction(each.metric) > 0 else each.score / (most or 1.0)))


def disagreement_blocks(found: Disagreement, task: TaskAnalysis, names: tuple[str, str]) -> list[Block]:
    is_class = task.task.kind == "classify"
    better, equal = ("correct", "correct") if is_class else ("closer to gold", "equally close")
    pairs = (
        (f"Only {names[0]} is {better}" if is_class else f"{names[0]} is {better}", f"{found.first:,}"),
        (f"Only {names[1]} is {better}" if is_class else f"{names[1]} is {better}", f"{found.second:,}"),
        (f"Both are {equal}", f"{found.both:,}"),
        *((("Neither is correct", f"{found.neither:,}"),) if is_class else ()),
        (
            "McNemar's test" if is_class else "Sign test",
            f"p {p_value(found.p)}: how often two equally good models would split these rows as unevenly",
        ),
    )
    return [Heading("Where the two runs disagree"), Facts(pairs), *disagreement_explorer(found, task, names)]


def leak_blocks(found: Leaks, rows: int) -> list[Block]:
    heading = Heading("Dev rows in the training data")
    if not found.texts:
        if found.unread or not found.sources:
            return []
        return [heading, Paragraph("No text of the dev rows occurs in the training data.")]
    metric = METRIC_NAMES.get(found.metric, found.metric)
    said = (
        f"Leaked rows (whole rows that also occur in the training data): {found.rows:,} of {rows:,}. Rows with at "
        f"least one text in the training data: {found.texts:,}. The run's {metric} is {fixed(found.score, 3)} on "
        "all rows"
    )
    if found.score_without_leaks is not None and found.rows:
        said += f", {fixed(found.score_without_leaks, 3)} without the leaked rows"
    if found.score_on_leaks is not None:
        said += f", {fixed(found.score_on_leaks, 3)} on the leaked rows only"
    columns = (Column("Training data of", False), Column("Whole rows"), Column("At least one text"))
    lines = tuple(
        (Cell(each.task, each.task), Cell(f"{each.rows:,}", each.rows), Cell(f"{each.texts:,}", each.texts))
        for each in found.sources
    )
    return [heading, Paragraph(f"{said}."), Table("Leaks", columns, lines)]
