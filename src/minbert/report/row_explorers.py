"""Rows of a task -> what a reader searches and filters."""

from collections.abc import Mapping
from typing import Any

from minbert.analysis.disagreement import Contrast, Disagreement
from minbert.analysis.hardest_rows import Example
from minbert.analysis.run_analysis import TaskAnalysis
from minbert.report.blocks import Block, Explorer, Facts, Words
from minbert.report.number_format import fixed, percent, signed

# letters of a text that are shown; nobody reads a novel here
LONG = 2000


def hardest(found: TaskAnalysis) -> tuple[Block, ...]:
    filters: dict[str, tuple[str, ...]] = {}
    if found.classes:
        filters = {"Label": tuple(found.task.display_labels), "Answer": ("wrong", "right")}
    else:
        filters = {"Answer": ("too high", "too low")}
    if found.tags:
        filters["Tag"] = tuple(tag.name for tag in found.tags)
    lead = Words("The highest loss first: a sure and wrong answer comes before a doubtful one.")
    explorer = Explorer(f"hardest-{found.task.name}", "Hardest rows", filters, tuple(map(example, found.hardest)))
    reasons = Facts(tuple((f"{tag.name} ({tag.rows:,})", tag.reason) for tag in found.tags), fold="What the tags mean")
    return (lead, explorer, reasons) if found.tags else (lead, explorer)


def example(row: Example) -> Mapping[str, Any]:
    if row.right is None:
        error = row.error or 0.0
        side = "too high" if error > 0 else "too low"
        said = [("gold", row.gold), ("answer", row.answer), ("error", signed(error, 2))]
        kinds = {"Answer": [side]}
        verdict, tone = side, "unclear"
    else:
        said = [("label", f"{row.gold}, {percent(row.gold_probability, 1)}")]
        said.append(("answer", f"{row.answer}, {percent(row.probability, 1)}"))
        verdict, tone = ("right", "better") if row.right else ("wrong", "worse")
        kinds = {"Label": [row.gold], "Answer": [verdict]}
    return shown(row, said, verdict, tone, row.tags, {**kinds, "Tag": list(row.tags)})


def contrasts(found: Disagreement, task: TaskAnalysis, names: tuple[str, str]) -> tuple[Block, ...]:
    """The rows that one run has right and the other has not."""
    better = ("first is better", "second is better")
    rows = [
        contrast(row, names, side)
        for side, group in zip(better, (found.first_better, found.second_better), strict=True)
        for row in group
    ]
    if not rows:
        return ()
    labels = tuple(task.task.display_labels) if task.classes else ()
    filters = {"Run": better, **({"Label": labels} if labels else {})}
    lead = Words(f"First is {names[0]}, second is {names[1]}; the greatest differences of loss first.")
    return lead, Explorer(
        f"disagreements-{task.task.name}", "Rows that two runs answer differently", filters, tuple(rows)
    )


def contrast(row: Contrast, names: tuple[str, str], side: str) -> Mapping[str, Any]:
    said = [("label", row.gold), ("first", row.first), ("second", row.second)]
    said += [("losses", f"{fixed(row.first_loss, 2)}, {fixed(row.second_loss, 2)}")]
    return shown(row, said, side, "unclear", (), {"Run": [side], "Label": [row.gold]})


def shown(
    row: Example | Contrast,
    said: list[tuple[str, str]],
    verdict: str,
    tone: str,
    tags: tuple[str, ...],
    kinds: Mapping[str, list[str]],
) -> Mapping[str, Any]:
    cut = [text if len(text) <= LONG else f"{text[:LONG]}…" for text in row.texts]
    return {
        "id": row.id,
        "texts": cut,
        "said": said,
        "verdict": verdict,
        "tone": tone,
        "tags": list(tags),
        "kinds": kinds,
    }
