"""The analysis of a run -> its page: where and how it errs, task by task."""

from minbert.analysis.classification import Classes
from minbert.analysis.disagreement import Disagreement
from minbert.analysis.leaks import Leaks
from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis
from minbert.analysis.slices import Slice
from minbert.data.metrics import direction
from minbert.report.blocks import (
    Beside,
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Heading,
    Notice,
    Page,
    Section,
    Table,
    Words,
)
from minbert.report.charts.gold_scatter import cloud
from minbert.report.charts.heatmap import Square, heatmap
from minbert.report.charts.reliability_diagram import reliability
from minbert.report.number_format import NOTHING, between, chance, fixed, percent, signed
from minbert.report.row_explorers import contrasts, hardest
from minbert.report.sentences import METRICS, count, listed
from minbert.report.svg import Drawing

CUTS = {"words": "number of words", "overlap": "share of common words", "label": "label", "tag": "tag"}


def run_page(analysis: RunAnalysis) -> Page:
    tasks = analysis.tasks
    notes = [*analysis.notes, *dict.fromkeys(words for found in tasks.values() for words in found.leaks.unread)]
    against = (("Beside", analysis.other),) if analysis.other else ()
    return Page(
        kind="Run",
        title=analysis.run,
        headline=headline(analysis),
        facts=Facts(
            (
                ("Tasks", ", ".join(tasks)),
                ("Dev rows", f"{sum(found.rows for found in tasks.values()):,}"),
                *against,
            )
        ),
        notices=(Notice("To be read with care", tuple(Words(note) for note in notes)),) if notes else (),
        sections=(
            scores(analysis),
            *(task_section(i, name, found, analysis) for i, (name, found) in enumerate(tasks.items())),
        ),
    )


def headline(analysis: RunAnalysis) -> tuple[str, ...]:
    said = []
    if len(analysis.tasks) > 1:
        said.append(f"{fixed(analysis.overall, 3)} overall, on {count(len(analysis.tasks), 'task')}.")
    for name, found in analysis.tasks.items():
        metric = found.task.metric
        own, dull = (fixed(each[metric], 3) for each in (found.scores, found.baseline.scores))
        said.append(f"{name}: {METRICS.get(metric, metric)} {own}, where a constant answer has {dull}.")
    return tuple(said)


def scores(analysis: RunAnalysis) -> Section:
    columns = (Column("Task", False), Column("Metric", False), Column("This run"), Column("Constant answer"))

    def line(name: str, found: TaskAnalysis, metric: str) -> tuple[Cell, ...]:
        words, own, dull = METRICS.get(metric, metric), found.scores[metric], found.baseline.scores.get(metric)
        return Cell(name, name), Cell(words, words), Cell(fixed(own, 4), own), Cell(fixed(dull, 4), dull)

    tasks = analysis.tasks.items()
    rows = tuple((*line(name, found, found.task.metric), Cell(f"{found.rows:,}", found.rows)) for name, found in tasks)
    every = tuple(line(name, found, metric) for name, found in tasks for metric in found.scores)
    lead = "Those of this run, and of a model that does not read and always gives its best constant answer."
    blocks = (
        Table("Main metrics on the dev rows", (*columns, Column("Dev rows")), rows),
        Table("Every metric on the dev rows", columns, every, fold="Every metric"),
    )
    return Section("scores", "Scores", "Scores", lead, blocks)


def task_section(i: int, name: str, found: TaskAnalysis, analysis: RunAnalysis) -> Section:
    blocks: list[Block] = []
    if found.classes:
        blocks += classes(name, found.classes)
    if found.regression:
        blocks += regression(name, found)
    if found.slices:
        blocks += [Heading("Where it is worse"), *slices(found.slices)]
    if found.hardest:
        blocks += [Heading("The hardest rows"), *hardest(found)]
    if found.disagreement and analysis.other:
        blocks += disagreement(found.disagreement, found, (analysis.run, analysis.other))
    blocks += leaks(found.leaks, found.rows)
    lead = f"{found.rows:,} dev rows. {found.task.about}".strip()
    return Section(f"task-{i + 1}", name, name, lead, tuple(blocks))


def classes(name: str, found: Classes) -> list[Block]:
    labels = [each.label for each in found.labels]

    def matrix(width: float) -> Drawing:
        squares = []
        for label, row in zip(labels, found.confusion, strict=True):
            rows = sum(row) or 1
            line = [confused(label, labels[j], number, number / rows) for j, number in enumerate(row)]
            squares.append(line)
        return heatmap(labels, labels, squares, "label", "answer", min(width, 470.0))

    sure = found.calibration
    caption = (
        f"Labels against answers; the ground is the share of a row. Matthews correlation {fixed(found.matthews, 3)}."
    )
    honest = "On the line, a model is as often right as it is sure; bars are shares of the answers. "
    honest += f"Expected calibration error {percent(sure.ece, 1)}; "
    honest += f"mean confidence minus accuracy {signed(sure.excess * 100, 1)} points."
    if sure.temperature is not None:
        # the temperature is chosen by log loss, which may leave the calibration error as it is
        losses = f"from {fixed(sure.log_loss, 3)} to {fixed(sure.mended_log_loss, 3)}"
        honest += f" Dividing the logits by {fixed(sure.temperature, 2)} would take the log loss {losses}"
        honest += f" and the calibration error to {percent(sure.mended_ece, 1)}, on these very rows."
    figures = (
        Figure(f"confusion-{name}", matrix, caption),
        Figure(f"reliability-{name}", lambda width: reliability(sure, width), honest),
    )
    names = ("Label", "Precision", "Recall", "F1", "Rows", "Answers")
    rows = tuple(
        (
            Cell(each.label, each.label),
            *(Cell(fixed(x, 3), x, bar=x) for x in (each.precision, each.recall, each.f1)),
            *(Cell(f"{n:,}", n) for n in (each.support, each.answered)),
        )
        for each in found.labels
    )
    columns = tuple(Column(column, column != "Label") for column in names)
    return [Beside(figures), Table("Label by label", columns, rows)]


def confused(label: str, answer: str, number: int, share: float) -> Square:
    tip = f"{label} answered as {answer}: {number:,} rows, {percent(share)} of its label"
    return Square(share if label == answer else -share, f"{number:,}", tip, strong=label == answer)


def regression(name: str, found: TaskAnalysis) -> list[Block]:
    scores = found.regression
    assert scores is not None
    low, high = found.task.range
    said = f"Each dot is a row; on the line, the answer is the gold score. Mean error {signed(scores.bias, 2)}."
    if scores.spread is not None:
        said += (
            f" Answers spread {fixed(scores.spread, 2)} times as wide as gold: below 1, the model keeps to the middle."
        )
    figure = Figure(f"answers-{name}", lambda width: cloud(scores.points, (low, high), width), said)
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
    return [Beside((figure, Table("Errors along the range", columns, rows)))]


def slices(found: tuple[Slice, ...]) -> tuple[Block, ...]:
    columns = (
        Column("Slice", False),
        Column("Score"),
        Column("95 % interval", False),
        Column("Verdict", False),
        Column("All rows", about="the same metric on all rows"),
        Column("Rows"),
        Column("Metric", False),
    )
    rows = []
    for each in sorted(found, key=lambda each: not each.worse):
        most = max(other.score for other in found if other.metric == each.metric)
        tone, metric = "worse" if each.worse else "", METRICS.get(each.metric, each.metric)
        rows.append(
            (
                Cell(each.name, each.name, note=CUTS.get(each.by, each.by)),
                Cell(fixed(each.score, 3), each.score, bar=gauge(each, most), tone=tone),
                Cell(between(each.low, each.high, 3), each.low),
                Cell("▼ worse", 1.0, tone=tone, chip=True) if each.worse else Cell("", 0.0),
                Cell(fixed(each.whole, 3), each.whole),
                Cell(f"{each.rows:,}", each.rows),
                Cell(metric, metric),
            )
        )
    worse = [f"{CUTS.get(each.by, each.by)} {each.name}" for each in found if each.worse]
    said = f"Worse than on all rows: {listed(worse)}." if worse else "No slice is clearly worse than all rows together."
    return Words(f"{said} By chance alone, about one slice in forty is marked."), Table("Slices", columns, tuple(rows))


def gauge(each: Slice, most: float) -> float:
    """Full is 1, or the worst of errors."""
    return max(0.0, min(1.0, each.score if direction(each.metric) > 0 else each.score / (most or 1.0)))


def disagreement(found: Disagreement, task: TaskAnalysis, names: tuple[str, str]) -> list[Block]:
    kind = ("right", "right") if task.task.kind == "classify" else ("nearer", "equally near")
    pairs = (
        (f"Only {names[0]} is {kind[0]}", f"{found.first:,}"),
        (f"Only {names[1]} is {kind[0]}", f"{found.second:,}"),
        (f"Both are {kind[1]}", f"{found.both:,}"),
        *((("Neither is right", f"{found.neither:,}"),) if task.task.kind == "classify" else ()),
        ("By chance", f"p = {chance(found.p)} that two equal models would split these rows as unevenly"),
    )
    return [Heading("Where two runs disagree"), Facts(pairs), *contrasts(found, task, names)]


def leaks(found: Leaks, rows: int) -> list[Block]:
    if not found.texts:
        if found.unread or not found.sources:
            return []
        return [Heading("Rows known from training"), Words("No text of the dev rows stands in the training rows.")]
    metric = METRICS.get(found.metric, found.metric)
    said = (
        f"{found.rows:,} of {rows:,} dev rows stand in the training rows as a whole, and {found.texts:,} with a text. "
        f"The run has {metric} {fixed(found.score, 4)} on all rows"
    )
    if found.rows:
        said += f", {fixed(found.without, 4)} without those, {fixed(found.alone, 4)} on those alone"
    columns = (Column("Training rows of", False), Column("Whole rows"), Column("Some text"))
    lines = tuple(
        (Cell(each.task, each.task), Cell(f"{each.rows:,}", each.rows), Cell(f"{each.texts:,}", each.texts))
        for each in found.sources
    )
    return [
        Heading("Rows known from training"),
        Words(f"{said.replace(NOTHING, 'nothing')}."),
        Table("Leaks", columns, lines),
    ]
