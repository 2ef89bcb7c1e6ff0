"""Which columns of which file are read, and the errors that all formats share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minbert.errors import UserError, closest

# (line, values of the columns and of the id), or (line, what is wrong with it)
FileRow = tuple[int, list[Any] | str]
# of a file whose rows name their own columns: names kept for the message that a column is missing
MAX_COLUMN_NAMES = 100
# what to do about a file that cannot be opened
DAMAGED = "It is damaged, cut off, or another kind of file: copy or export it again, or save it as csv."
TOO_MANY_FIELDS = "fields where the header has"
QUOTE_TEXTS = 'Texts that contain the delimiter, such as a comma, need quotes around them: "Well, no.",bad.'


@dataclass(frozen=True)
class ColumnRequest:
    """Some columns of a file, and the column of the id, which may be missing.

    `exact`: a row with fewer fields than the header is a bad row; otherwise its missing fields are empty.
    """

    path: Path
    columns: list[str]
    id_column: str
    delimiter: str = ""
    exact: bool = False

    def places(self, header: Sequence[str]) -> list[int | None]:
        """Where the columns and the id stand in the header."""
        check_columns(self.path, self.columns, header)
        places: list[int | None] = [header.index(column) for column in self.columns]
        return [*places, header.index(self.id_column) if self.id_column in header else None]

    def pick(self, row: list[Any], header: Sequence[str], places: Sequence[int | None]) -> list[Any] | str:
        """The values of a row, or what is wrong with it."""
        if len(row) > len(header) or (self.exact and len(row) < len(header)):
            return f"{len(row)} {TOO_MANY_FIELDS} {len(header)}"
        row = row + [""] * (len(header) - len(row))
        return [None if place is None else row[place] for place in places]


def empty_file_error(path: Path) -> UserError:
    return UserError(f"{path}: the file is empty.", "A data file needs a header line and at least one row.")


class MissingColumn(UserError):
    """A file without a column that is read."""

    def __init__(self, column: str, problem: str, next_step: str) -> None:
        super().__init__(problem, next_step)
        self.column = column


def check_columns(path: Path, columns: Iterable[str], found: Sequence[str], layout: str = "") -> None:
    for column in columns:
        if column not in found:
            named = [name for name in found if name]
            read_as = f" It was read as {layout}." if layout else ""
            close = closest(column, named)
            raise MissingColumn(
                column,
                f"{path}: no column '{column}'." + (f" Did you mean '{close}'?" if close else ""),
                f"The file has the columns {', '.join(named) or '(none with a name)'}.{read_as}",
            )
        if found.count(column) > 1:
            raise UserError(f"{path}: two columns are called '{column}'.", "Rename one of them.")
