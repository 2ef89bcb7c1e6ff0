"""Rows of cells -> lines of text. Names are never split or cut; descriptions wrap at words, or move below the row."""

import re
from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2
# a column that wraps stays beside the others if it has at least this width, or the width of its longest word
NARROWEST = 24
INDENT = "    "


class TextTable(Table):
    """Columns without rules, in the first of three layouts that fits the width: columns, columns with the wrapping
    cells below each row, or one paragraph per row with the heading before each value."""

    def __init__(self, columns: Sequence[str], right: Collection[str] = (), wrap: Collection[str] = ()) -> None:
        super().__init__(box=None)
        for name in columns:
            self.add_column(name, justify="right" if name in right else "left", no_wrap=name not in wrap)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(options.max_width):
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def lines(self, width: int) -> Iterator[Text]:
        rows = [[Text.from_markup(str(cell), emoji=False) for cell in row] for row in zip(*self._cells(), strict=True)]
        everything = list(range(len(self.columns)))
        fixed = [i for i in everything if self.columns[i].no_wrap]
        widths = self.fit(rows, everything, width)
        if widths:
            yield self.header_line(widths)
            for row in rows:
                yield from self.row_lines(row, widths)
            return
        widths = self.fit(rows, fixed, width)
        if widths:
            yield self.header_line(widths)
        elif self.columns:
            # the others stand before their values
            yield Text(str(self.columns[0].header), "bold")
        for row in rows:
            yield from self.row_lines(row, widths) if widths else self.paragraph(row, fixed, width)
            yield from self.below(row, [i for i in everything if i not in fixed], width)

    def _cells(self) -> Iterator[list[object]]:
        return (list(column.cells) for column in self.columns)

    def fit(self, rows: Sequence[Sequence[Text]], chosen: Sequence[int], width: int) -> dict[int, int]:
        """The widths of these columns side by side; nothing if they have no room."""
        widths = {i: max([cell_len(str(self.columns[i].header)), *(widest(row[i]) for row in rows)]) for i in chosen}
        if not chosen or total(widths) <= width:
            return widths
        least = {
            i: max(NARROWEST, *(longest_word(row[i]) for row in rows)) if rows else NARROWEST
            for i in chosen
            if not self.columns[i].no_wrap
        }
        narrow = widths | {i: min(widths[i], small) for i, small in least.items()}
        spare = width - total(narrow)
        if spare < 0:
            return {}
        wanted = sum(widths[i] - narrow[i] for i in least)
        return narrow | {i: narrow[i] + spare * (widths[i] - narrow[i]) // wanted for i in least}

    def header_line(self, widths: dict[int, int]) -> Text:
        return self.join({i: Text(str(self.columns[i].header), "bold") for i in widths}, widths)

    def row_lines(self, row: Sequence[Text], widths: dict[int, int]) -> Iterator[Text]:
        cells = {i: wrapped(row[i], width) for i, width in widths.items()}
        for number in range(max(map(len, cells.values()))):
            yield self.join({i: lines[number] if number < len(lines) else Text() for i, lines in cells.items()}, widths)

    def join(self, cells: dict[int, Text], widths: dict[int, int]) -> Text:
        line = Text()
        for i, cell in cells.items():
            space = " " * (widths[i] - cell.cell_len)
            right = self.columns[i].justify == "right"
            padded = Text.assemble(space, cell) if right else Text.assemble(cell, space)
            line.append_text(Text.assemble(" " * GAP if line else "", padded))
        return line

    def paragraph(self, row: Sequence[Text], fixed: Sequence[int], width: int) -> Iterator[Text]:
        """The first cell, then the others with their headings, as many in a line as fit."""
        first, *others = fixed
        if row[first].plain:
            yield row[first]
        line = Text()
        for i in others:
            if not row[i].plain:
                continue
            item = Text.assemble((f"{self.columns[i].header} ", "dim"), row[i])
            if line and len(INDENT) + line.cell_len + GAP + item.cell_len > width:
                yield Text.assemble(INDENT, line)
                line = Text()
            line.append_text(Text.assemble(" " * GAP if line else "", item))
        if line:
            yield Text.assemble(INDENT, line)

    def below(self, row: Sequence[Text], chosen: Sequence[int], width: int) -> Iterator[Text]:
        for i in chosen:
            for line in wrapped(row[i], width - len(INDENT)) if row[i].plain else ():
                yield Text.assemble(INDENT, line)


def total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def widest(cell: Text) -> int:
    return max((cell_len(line) for line in cell.plain.split("\n")), default=0)


def longest_word(cell: Text) -> int:
    return max((cell_len(word) for word in cell.plain.split()), default=0)


def wrapped(cell: Text, width: int) -> list[Text]:
    """The lines of a cell, broken at words and indented alike; a word that is longer than a line is left whole."""
    lines: list[Text] = []
    for line in cell.split("\n", allow_blank=True):
        indent = line.plain[: len(line.plain) - len(line.plain.lstrip(" "))]
        first, *others = line.divide(line_breaks(line.plain, width, cell_len(indent)))
        lines += [first, *(Text.assemble(indent, other) for other in others)]
    for line in lines:
        line.rstrip()
    return lines


def line_breaks(line: str, width: int, indent: int) -> list[int]:
    """Where to break a line; the lines after the first have an indent."""
    breaks: list[int] = []
    used = 0
    # rich's own breaks would split a word that is longer than a line, or make all lines as long as that word
    for word in re.finditer(r" *[^ ]+ *", line):
        text = word.group()
        if used > indent and used + cell_len(text.rstrip(" ")) > width:
            breaks.append(word.start())
            used = indent
        used += cell_len(text)
    return breaks
