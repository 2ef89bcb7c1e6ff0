"""A file -> what is in each of its columns: numbers, different values, lengths. Memory does not grow with the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minbert.config.task import label_key
from minbert.data.labels import as_number
from minbert.data.readers import ColumnReader, read_layout
from minbert.data.rejects import is_missing
from minbert.errors import UserError
from minbert.plural import plural

# different values that are counted one by one; a column with more is no list of labels
MOST_DISTINCT = 5000
# rows whose lengths are measured
MEASURED_ROWS = 10_000
# from Thai on, scripts have no spaces between words
NO_SPACES = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass
class ColumnProfile:
    """What is in one column."""

    name: str
    filled: int = 0
    missing: int = 0
    numbers: int = 0
    fractions: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    # how often each value occurs, until there are too many
    counts: dict[str, int] = field(default_factory=dict)
    overflow: bool = False
    # JSON arrays and objects
    lists: int = 0
    words: int = 0
    characters: int = 0
    measured: int = 0
    sample: str = ""

    def add(self, value: Any) -> None:
        if is_missing(value) or value != value:
            self.missing += 1
            return
        self.filled += 1
        if not self.sample:
            self.sample = str(value)
        if isinstance(value, list | dict):
            self.lists += 1
            return
        number = as_number(value)
        if number is not None:
            self.numbers += 1
            self.fractions += not number.is_integer()
            self.low, self.high = min(self.low, number), max(self.high, number)
        if not self.overflow:
            self._count(str(number) if number is not None and isinstance(value, str) and "," in value else value)
        if self.measured < MEASURED_ROWS and isinstance(value, str):
            self.measured += 1
            self.words += max(len(value.split()), 0 if value.isascii() else len(NO_SPACES.findall(value)) // 2)
            self.characters += len(value)

    def _count(self, value: Any) -> None:
        key = label_key(value)
        self.counts[key] = self.counts.get(key, 0) + 1
        self.overflow = len(self.counts) > MOST_DISTINCT

    @property
    def distinct(self) -> int:
        return len(self.counts)

    @property
    def different(self) -> str:
        """How many different values there are, in words."""
        return (
            f"more than {MOST_DISTINCT:,} different values"
            if self.overflow
            else plural(self.distinct, "different value")
        )

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, but for a few that are wrong."""
        return 0 < 0.95 * self.filled <= self.numbers

    @property
    def mean_words(self) -> float:
        return self.words / self.measured if self.measured else 0.0

    @property
    def mean_characters(self) -> float:
        return self.characters / self.measured if self.measured else 0.0

    @property
    def repeats(self) -> float:
        """How often a value occurs in the mean."""
        return 1.0 if self.overflow or not self.counts else sum(self.counts.values()) / self.distinct

    def merge(self, other: "ColumnProfile") -> "ColumnProfile":
        """The values of both, for the labels of a training file and of its dev file."""
        counts = dict(self.counts)
        for key, count in other.counts.items():
            counts[key] = counts.get(key, 0) + count
        return ColumnProfile(
            self.name,
            self.filled + other.filled,
            self.missing + other.missing,
            self.numbers + other.numbers,
            self.fractions + other.fractions,
            min(self.low, other.low),
            max(self.high, other.high),
            counts,
            self.overflow or other.overflow,
            self.lists + other.lists,
            sample=self.sample or other.sample,
        )


@dataclass
class FileProfile:
    """What is in a file."""

    path: Path
    # for example "semicolon-separated, Windows-1252"
    description: str
    columns: dict[str, ColumnProfile]
    rows: int = 0
    # rows that cannot be read
    bad_rows: int = 0


def profile_file(path: Path) -> FileProfile:
    layout = read_layout(path)
    names = [name for name in layout.columns if name.strip()]
    check_header(path, layout.columns)
    found = FileProfile(path, layout.description, {name: ColumnProfile(name) for name in names})
    columns = list(found.columns.values())
    for values in read_good_rows(found, names):
        for column, value in zip(columns, values, strict=False):
            # its values are known to be neither labels nor numbers
            if not (column.overflow and column.measured >= MEASURED_ROWS and not column.is_number):
                column.add(value)
    if not found.rows:
        what = "no row that can be read" if found.bad_rows else "a header line and no rows"
        raise UserError(
            f"{path}: {what} ({layout.description}).",
            f"The columns are {', '.join(names) or '(none with a name)'}. Add rows, or name another file.",
        )
    check_names(found)
    return found


def read_good_rows(found: FileProfile, names: list[str]) -> Iterator[list[Any]]:
    for _, values in ColumnReader(found.path, names, ""):
        if isinstance(values, str):
            found.bad_rows += 1
        else:
            found.rows += 1
            yield values


def check_header(path: Path, header: list[str]) -> None:
    """Refuse a file that begins with its first row: a name is neither a number nor a sentence."""
    odd = [name for name in header if as_number(name) is not None or len(name.split()) > 5 or len(name) > 60]
    if odd and any(len(name.split()) > 2 for name in header):
        raise no_header(path, header)


def check_names(found: FileProfile) -> None:
    """Refuse a file whose first line has a text, and a label that other rows have too."""
    texts = any(len(name.split()) > 2 for name in found.columns)
    for name, column in found.columns.items() if texts else ():
        if column.counts.get(label_key(name), 0) > 1 and not column.overflow and column.repeats >= 2:
            raise no_header(found.path, list(found.columns))


def no_header(path: Path, header: list[str]) -> UserError:
    return UserError(
        f"{path}: the first line looks like a row, not like the names of the columns: {', '.join(header)[:200]}",
        "Add a header line, for example: text,label",
    )
