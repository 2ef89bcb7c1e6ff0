"""A page -> Markdown: the same words and tables, with those pictures that are files."""

import re
from collections.abc import Iterable, Iterator, Mapping
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
    Figure,
    Heading,
    Notice,
    Page,
    Table,
    Words,
)

# what Markdown would take for its own; what HTML would, is escaped its way
SPECIAL = re.compile(r"([\\`*_\[\]|#~$])")


def markdown_of(page: Page, figures: Mapping[str, str]) -> str:
    """`figures`: the path from the page to each figure that has one; the others are left out."""
    lines = [f"# {plain(page.title)}", "", f"**{plain(page.headline[0])}**", ""]
    lines += [plain(sentence) + "\n" for sentence in page.headline[1:]]
    lines += shown((page.facts, *page.notices), figures)
    for section in page.sections:
        if inside := list(shown(section.blocks, figures)):
            lines += [f"## {plain(section.title)}", ""]
            lines += [plain(section.lead), ""] if section.lead else []
            lines += inside
    return "\n".join(lines).rstrip() + "\n"


def shown(blocks: Iterable[Block], figures: Mapping[str, str]) -> Iterator[str]:
    heading: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            heading = [f"### {plain(block.text)}", ""]
        elif lines := list(lines_of(block, figures)):
            # a heading of nothing but pictures that are not there would head nothing
            yield from (*heading, *lines)
            heading = []


def lines_of(block: Block, figures: Mapping[str, str]) -> Iterator[str]:
    if isinstance(block, Table):
        yield from table(block)
    elif isinstance(block, Words):
        yield from (plain(block.text), "")
    elif isinstance(block, Figure):
        if path := figures.get(block.name):
            yield from (f"![{plain(block.name)}]({path})", "", plain(block.caption), "")
    elif isinstance(block, Facts):
        yield from (f"- {plain(name)}: {plain(value)}" for name, value in block.pairs)
        yield ""
    elif isinstance(block, Commands):
        yield from ("```sh", *(line.replace("```", "'''") for line in block.lines), "```", "")
    elif isinstance(block, Notice):
        yield from (f"> **{plain(block.title)}**", "", *shown(block.blocks, figures))
    elif isinstance(block, Card):
        yield from (f"### {plain(block.title)}", "", *([plain(block.about), ""] if block.about else []))
        yield from shown(block.blocks, figures)
    elif isinstance(block, Beside):
        yield from shown(block.blocks, figures)
    elif isinstance(block, Choice):
        for option in block.options:
            # the name of a panel that holds a picture only would head nothing
            yield from shown(option.blocks, figures)
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
