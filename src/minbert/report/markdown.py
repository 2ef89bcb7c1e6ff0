"""Page -> Markdown: the same text and tables, and the figures that exist as files."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape

from minbert.report.blocks import (
    Block,
    Card,
    Cell,
    Commands,
    Facts,
    Figure,
    Group,
    Heading,
    Notice,
    Page,
    Paragraph,
    RowExplorer,
    Table,
)

# characters with a meaning in Markdown; those with a meaning in HTML are escaped as HTML
MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]|#~$])")


def markdown_of(page: Page, figures: Mapping[str, str]) -> str:
    """`figures`: the path from the page to each figure; figures without a path are left out."""
    lines = [f"# {escape_markdown(page.title)}", "", f"**{escape_markdown(page.headline[0])}**", ""]
    lines += [escape_markdown(sentence) + "\n" for sentence in page.headline[1:]]
    lines += block_lines((page.facts, *page.notices), figures)
    for section in page.sections:
        if inside := list(block_lines(section.blocks, figures)):
            lines += [f"## {escape_markdown(section.title)}", ""]
            lines += [escape_markdown(section.lead), ""] if section.lead else []
            lines += inside
    return "\n".join(lines).rstrip() + "\n"


def block_lines(blocks: Iterable[Block], figures: Mapping[str, str]) -> Iterator[str]:
    heading: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            heading = [f"### {escape_markdown(block.text)}", ""]
        elif lines := list(lines_of_block(block, figures)):
            # no heading for blocks that are all left out
            yield from (*heading, *lines)
            heading = []


def lines_of_block(block: Block, figures: Mapping[str, str]) -> Iterator[str]:
    if isinstance(block, Table):
        yield from table_lines(block)
    elif isinstance(block, Paragraph):
        yield from (escape_markdown(block.text), "")
    elif isinstance(block, Figure):
        if path := figures.get(block.name):
            yield from (f"![{escape_markdown(block.name)}]({path})", "", escape_markdown(block.caption), "")
    elif isinstance(block, Facts):
        yield from (f"- {escape_markdown(name)}: {escape_markdown(value)}" for name, value in block.pairs)
        yield ""
    elif isinstance(block, Commands):
        yield from ("```sh", *(line.replace("```", "'''") for line in block.lines), "```", "")
    elif isinstance(block, Notice):
        yield from (f"> **{escape_markdown(block.title)}**", "", *block_lines(block.blocks, figures))
    elif isinstance(block, Card):
        yield from (
            f"### {escape_markdown(block.title)}",
            "",
            *([escape_markdown(block.about), ""] if block.about else []),
        )
        yield from block_lines(block.blocks, figures)
    elif isinstance(block, RowExplorer):
        yield from explorer_lines(block)
    elif isinstance(block, Group):
        yield from block_lines(block.blocks, figures)


def table_lines(block: Table) -> Iterator[str]:
    yield f"{escape_markdown(block.caption)}:"
    yield ""
    yield "| " + " | ".join(escape_markdown(column.name) for column in block.columns) + " |"
    yield "|" + "|".join(" ---: " if column.numeric else " --- " for column in block.columns) + "|"
    for row in block.rows:
        yield "| " + " | ".join(cell_text(cell, i) for i, cell in enumerate(row)) + " |"
    yield ""


def cell_text(cell: Cell, column: int) -> str:
    # the description of a recipe is shown once, next to its settings
    return escape_markdown(cell.text if column == 0 or not cell.note else f"{cell.text} {cell.note}")


def explorer_lines(block: RowExplorer, most: int = 20) -> Iterator[str]:
    yield f"{escape_markdown(block.caption)} (the first {min(most, len(block.rows))} of {len(block.rows)}):"
    yield ""
    for row in block.rows[:most]:
        texts = " / ".join(escape_markdown(text) for text in row["texts"])
        values = ", ".join(f"{escape_markdown(name)} {escape_markdown(value)}" for name, value in row["values"])
        yield f"- {texts}: {values}"
    yield ""


def escape_markdown(words: str) -> str:
    """One line of text without Markdown or HTML."""
    return MARKDOWN_SPECIAL.sub(r"\\\1", escape(" ".join(words.split()), quote=False))
