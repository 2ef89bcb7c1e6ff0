"""The blocks of a page as plain data; the same blocks become HTML and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import Drawing

# (label, style) of each series
LegendEntries = tuple[tuple[str, SeriesStyle], ...]
# the widths that charts are drawn for
DESKTOP_WIDTH, PHONE_WIDTH = 720.0, 332.0


class Block:
    """Something that a page shows. The template pages/blocks.html chooses by `kind`."""

    @property
    def kind(self) -> str:
        return type(self).__name__


@dataclass(frozen=True)
class Cell:
    text: str
    # what the column is sorted by; rows with None come last
    value: float | str | None = None
    # a second line in smaller type
    note: str = ""
    # better, worse or unclear: the color of the chip, or of the note if there is no chip
    tone: str = ""
    chip: bool = False
    # the marker of a system, as in its curves
    style: SeriesStyle | None = None
    # 0 to 1: a bar below the number
    bar: float | None = None
    link: str = ""


@dataclass(frozen=True)
class Column:
    name: str
    numeric: bool = True
    # ascending or descending, if the table is sorted by this column at first
    sort: str = ""
    about: str = ""
    # the same in every table of a choice: printed only in the first
    once: bool = False


@dataclass(frozen=True)
class Table(Block):
    """The first column names the rows and stays visible when the table scrolls."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    # if set, the table is collapsed under this title
    fold: str = ""
    sortable: bool = True


@dataclass(frozen=True)
class Paragraph(Block):
    text: str


class Heading(Paragraph):
    """The heading of the blocks that follow it."""


@dataclass(frozen=True)
class Figure(Block):
    """A chart, drawn for a given width; its numbers are also in a table or in the caption."""

    name: str
    draw: Callable[[float], Drawing]
    caption: str
    # for the figure's own SVG file
    legend: LegendEntries = ()


@dataclass(frozen=True)
class Legend(Block):
    """Shows and hides the series of the figures in its section."""

    entries: LegendEntries


@dataclass(frozen=True)
class Facts(Block):
    pairs: tuple[tuple[str, str], ...]
    # the values are code: paths, hashes
    code: bool = False
    # if set, the list is collapsed under this title
    fold: str = ""


@dataclass(frozen=True)
class Commands(Block):
    lines: tuple[str, ...]


@dataclass(frozen=True)
class RowExplorer(Block):
    """Dev rows that a reader can search and filter in the page."""

    name: str
    caption: str
    # filter: its values, in order
    filters: Mapping[str, tuple[str, ...]]
    # made by row_explorers.explorer_entry
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Group(Block):
    blocks: tuple[Block, ...]


class SideBySide(Group):
    """Blocks next to each other where there is room."""


@dataclass(frozen=True)
class Notice(Group):
    title: str


@dataclass(frozen=True)
class Card(Group):
    title: str
    about: str
    style: SeriesStyle


@dataclass(frozen=True)
class Option(Group):
    value: str
    label: str


@dataclass(frozen=True)
class Choice(Group):
    """Shows one of its options at a time; choices with the same name switch together."""

    blocks: tuple[Option, ...]
    name: str
    question: str


@dataclass(frozen=True)
class Section:
    id: str
    # in the navigation bar
    short: str
    title: str
    lead: str
    blocks: tuple[Block, ...]
    # what a reader can do here; only in HTML
    hint: str = ""
    # the picture that comes first, next to the headline and the facts
    first_screen: bool = False


@dataclass(frozen=True)
class Page:
    # "Comparison", "Error analysis"
    kind: str
    title: str
    # the first sentence is set in large type
    headline: tuple[str, ...]
    facts: Facts
    notices: tuple[Notice, ...]
    sections: tuple[Section, ...]

    def figures(self) -> Iterator[Figure]:
        for section in self.sections:
            yield from (block for block in nested_blocks(section.blocks) if isinstance(block, Figure))


def nested_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """All blocks, including those inside groups."""
    for block in blocks:
        yield block
        if isinstance(block, Group):
            yield from nested_blocks(block.blocks)


def choice_of(name: str, question: str, options: Iterable[Option]) -> tuple[Block, ...]:
    """A choice between the options that are not empty; if there is only one, its blocks."""
    found = tuple(option for option in options if option.blocks)
    if len(found) < 2:
        return tuple(block for option in found for block in option.blocks)
    return (Choice(found, name, question),)
