"""A page -> Markdown: the same words and tables, without the pictures."""

import re
from collections.abc import Iterable, Iterator
from html import escape

from minbert.report.blocks import (
    Beside,
    Block,
    Card,
    Cell,
    Choice,
    Commands,
    Explorer,
    Facts,
    Heading,
    Notice,
    Page,
    Table,
    Words,
)

# what Markdown would take for its own; what HTML would, is escaped its way
SPECIAL = re.compile(r"([\\`*_\[\]|#~$])")


def markdown_of(page: Page) -> str:
    lines = [f"# {plain(page.title)}", "", f"**{plain(page.headline[0])}**", ""]
    lines += [plain(sentence) + "\n" for sentence in page.headline[1:]]
    lines += shown((page.facts, *page.notices))
    for section in page.sections:
        lines += [f"## {plain(section.title)}", ""]
        if section.lead:
            lines += [plain(section.lead), ""]
        lines += shown(section.blocks)
    return "\n".join(lines).rstrip() + "\n"


def shown(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Table):
            yield from table(block)
        elif isinstance(block, Words | Heading):
            yield from (f"### {plain(block.text)}" if isinstance(block, Heading) else plain(block.text), "")
        elif isinstance(block, Facts):
            yield from (f"- {plain(name)}: {plain(value)}" for name, value in block.pairs)
            yield ""
        elif isinstance(block, Commands):
            yield from ("```sh", *(line.replace("```", "'''") for line in block.lines), "```", "")
        elif isinstance(block, Notice):
            yield from (f"> **{plain(block.title)}**", "", *shown(block.blocks))
        elif isinstance(block, Card):
            yield from (f"### {plain(block.title)}", "", *([plain(block.about), ""] if block.about else []))
            yield from shown(block.blocks)
        elif isinstance(block, Beside):
            yield from shown(block.blocks)
        elif isinstance(block, Choice):
            for option in block.options:
                # the name of a panel that holds a picture only would head nothing
                yield from shown(option.blocks)
        elif isinstance(block, Explorer):
            yield from examples(block)


def table(block: Table) -> Iterator[str]:
    yield f"{plain(block.caption)}:"
    yield ""
    yield "| " + " | ".join(plain(column.name) for column in block.columns) + " |"
    yield "|" + "|".join(" ---: " if column.numeric else " --- " for column in block.columns) + "|"
    for row in block.rows:
        yield "| " + " | ".join(words_of(cell, i) for i, cell in enumerate(row)) + " |"
    yield ""


def words_of(cell: Cell, column: int) -> str:
    # what a recipe is about is said once, where its settings are
    return plain(cell.text if column == 0 or not cell.note else f"{cell.text} {cell.note}")


def examples(block: Explorer, most: int = 20) -> Iterator[str]:
    yield f"{plain(block.caption)} (the first {min(most, len(block.rows))} of {len(block.rows)}):"
    yield ""
    for row in block.rows[:most]:
        texts = " / ".join(plain(text) for text in row["texts"])
        said = ", ".join(f"{plain(name)} {plain(value)}" for name, value in row["said"])
        yield f"- {texts}: {said}"
    yield ""


def plain(words: str) -> str:
    """One line that means itself."""
    return SPECIAL.sub(r"\\\1", escape(" ".join(words.split()), quote=False))
