"""What a page is made of, as plain data: the same blocks become HTML and Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from minbert.report.svg import Drawing

# the width that charts are drawn for: beside their captions, and on a phone
WIDE, SLIM = 680.0, 332.0


@dataclass(frozen=True)
class Cell:
    text: str
    # what the column is sorted by; None: after all others
    value: float | str | None = None
    # a second, quieter line
    note: str = ""
    # better, worse, unclear: of the chip, or else of the note
    tone: str = ""
    chip: bool = False
    # the colour of a recipe, as in its curves
    colour: str = ""
    # 0 to 1: a bar behind the number
    bar: float | None = None
    link: str = ""


@dataclass(frozen=True)
class Column:
    name: str
    numeric: bool = True
    # in the head of the table: which way it is sorted at first
    sort: str = ""
    about: str = ""


@dataclass(frozen=True)
class Table:
    """The first column names the rows and stays in sight."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    # said instead of the table until it is opened
    fold: str = ""
    sortable: bool = True


@dataclass(frozen=True)
class Words:
    kind: ClassVar[str] = "words"
    text: str


@dataclass(frozen=True)
class Heading:
    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Figure:
    """A chart, drawn for a width; its numbers are in a table too, or few enough to be in the caption."""

    kind: ClassVar[str] = "figure"
    name: str
    draw: Callable[[float], Drawing]
    caption: str
    # label and colour, for the file that stands alone
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Legend:
    """Shows and hides the series of the figures of its section."""

    kind: ClassVar[str] = "legend"
    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Option:
    value: str
    label: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Choice:
    """One of several panels; choices of the same name go together."""

    kind: ClassVar[str] = "choice"
    name: str
    question: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Facts:
    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]
    # the values are code: paths, hashes
    code: bool = False
    # said instead until it is opened
    fold: str = ""


@dataclass(frozen=True)
class Commands:
    kind: ClassVar[str] = "commands"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Notice:
    kind: ClassVar[str] = "notice"
    title: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Beside:
    """Blocks that stand side by side where there is room."""

    kind: ClassVar[str] = "beside"
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Card:
    """Something small with a name of its own."""

    kind: ClassVar[str] = "card"
    title: str
    about: str
    colour: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Explorer:
    """Rows that a reader searches and filters in the page itself."""

    kind: ClassVar[str] = "explorer"
    name: str
    caption: str
    # filter: its values, in order
    filters: Mapping[str, tuple[str, ...]]
    # each: texts, label, prediction, note, tags, wrong, more
    rows: tuple[Mapping[str, Any], ...]


Block = Table | Words | Heading | Figure | Legend | Choice | Facts | Commands | Notice | Beside | Card | Explorer


@dataclass(frozen=True)
class Section:
    id: str
    # in the list of sections
    short: str
    title: str
    lead: str
    blocks: tuple[Block, ...]
    # what a reader can do here; said only where it is so, in HTML
    hint: str = ""


@dataclass(frozen=True)
class Page:
    # "Comparison", "Run"
    kind: str
    title: str
    # the first sentence is the one in large letters
    headline: tuple[str, ...]
    facts: Facts
    notices: tuple[Notice, ...]
    sections: tuple[Section, ...]

    def figures(self) -> Iterator[Figure]:
        for section in self.sections:
            yield from (block for block in inner(section.blocks) if isinstance(block, Figure))


def inner(blocks: Iterable[Block]) -> Iterator[Block]:
    """All blocks, with those inside others."""
    for block in blocks:
        yield block
        if isinstance(block, Choice):
            for option in block.options:
                yield from inner(option.blocks)
        elif isinstance(block, Notice | Beside | Card):
            yield from inner(block.blocks)


def choose(name: str, question: str, options: Iterable[Option]) -> tuple[Block, ...]:
    """A choice of those options that show something; of one, the thing itself."""
    found = [option for option in options if option.blocks]
    if len(found) < 2:
        return tuple(block for option in found for block in option.blocks)
    return (Choice(name, question, tuple(found)),)
