"""Dev rows of a task -> rows that a reader can search and filter."""

from collections.abc import Mapping
from typing import Any

from minbert.analysis.disagreement import Disagreement, DisagreementRow
from minbert.analysis.hardest_rows import HardRow
from minbert.analysis.run_analysis import TaskAnalysis
from minbert.report.blocks import Block, Facts, Paragraph, RowExplorer
from minbert.report.number_format import fixed, percentage, signed

# characters; longer texts are truncated
LONGEST_TEXT = 2000


def hardest_rows_explorer(found: TaskAnalysis) -> tuple[Block, ...]:
    filters: dict[str, tuple[str, ...]] = {}
    if found.classification:
        filters = {"Label": tuple(found.task.display_labels), "Prediction": ("wrong", "correct")}
    else:
        filters = {"Prediction": ("too high", "too low")}
    if found.tags:
        filters["Tag"] = tuple(tag.name for tag in found.tags)
    lead = Paragraph("The highest loss first: a confident error comes before an uncertain one.")
    rows = tuple(map(hard_row_entry, found.hardest_rows))
    explorer = RowExplorer(f"hardest-{found.task.name}", "Hardest rows", filters, rows)
    reasons = Facts(tuple((f"{tag.name} ({tag.rows:,})", tag.reason) for tag in found.tags), fold="What the tags mean")
    return (lead, explorer, reasons) if found.tags else (lead, explorer)


def hard_row_entry(row: HardRow) -> Mapping[str, Any]:
    if row.correct is None:
        error = row.error or 0.0
        result, tone = "too high" if error > 0 else "too low", "unclear"
        values = [("gold", row.gold), ("prediction", row.prediction), ("error", signed(error, 2))]
        kinds = {"Prediction": [result]}
    else:
        result, tone = ("correct", "better") if row.correct else ("wrong", "worse")
        values = [("label", f"{row.gold}, {percentage(row.gold_probability, 1)}")]
        values.append(("prediction", f"{row.prediction}, {percentage(row.probability, 1)}"))
        kinds = {"Label": [row.gold], "Prediction": [result]}
    return explorer_entry(row, values, result, tone, row.tags, {**kinds, "Tag": list(row.tags)})


def disagreement_explorer(found: Disagreement, task: TaskAnalysis, names: tuple[str, str]) -> tuple[Block, ...]:
    """The rows that one run gets right and the other does not."""
    better = ("first is better", "second is better")
    rows = tuple(
        disagreement_entry(row, side)
        for side, group in zip(better, (found.first_better, found.second_better), strict=True)
        for row in group
    )
    if not rows:
        return ()
    labels = tuple(task.task.display_labels) if task.classification else ()
    filters = {"Run": better, **({"Label": labels} if labels else {})}
    lead = Paragraph(f"First is {names[0]}, second is {names[1]}. The largest differences in loss come first.")
    return lead, RowExplorer(f"disagreements-{task.task.name}", "Rows on which the runs disagree", filters, rows)


def disagreement_entry(row: DisagreementRow, side: str) -> Mapping[str, Any]:
    values = [("label", row.gold), ("first", row.first), ("second", row.second)]
    values += [("losses", f"{fixed(row.first_loss, 2)}, {fixed(row.second_loss, 2)}")]
    return explorer_entry(row, values, side, "unclear", (), {"Run": [side], "Label": [row.gold]})


def explorer_entry(
    row: HardRow | DisagreementRow,
    values: list[tuple[str, str]],
    result: str,
    tone: str,
    tags: tuple[str, ...],
    kinds: Mapping[str, list[str]],
) -> Mapping[str, Any]:
    """What pages/page.js shows of a row; `kinds` are its values for the filters."""
    texts = [text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…" for text in row.texts]
    return {
        "id": row.id,
        "texts": texts,
        "values": values,
        "result": result,
        "tone": tone,
        "tags": list(tags),
        "kinds": kinds,
    }
