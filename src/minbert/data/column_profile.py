"""A file -> what is in each of its columns: numbers, different values, lengths. Memory does not grow with the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minbert.config.task import label_key
from minbert.data.column_request import QUOTE_TEXTS, TOO_MANY_FIELDS
from minbert.data.fasttext import FASTTEXT_LABEL, fasttext_file
from minbert.data.json_rows import HOW_TO_WRITE_ROWS
from minbert.data.label_spellings import LabelSpellings
from minbert.data.labels import as_number
from minbert.data.missing_words import may_be_missing, means_missing
from minbert.data.readers import ColumnReader, FileLayout, read_layout
from minbert.data.rejects import RejectedRow, is_missing
from minbert.data.text_format import NOT_UTF8, is_unicode, not_utf8
from minbert.errors import UserError, cut_text
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
    # how often each word occurs that may mean that there is no value; see settle_missing_words
    na: dict[str, int] = field(default_factory=dict)
    spellings: LabelSpellings = field(default_factory=LabelSpellings)

    def add(self, value: Any) -> None:
        if is_missing(value) or value != value:
            self.missing += 1
            return
        if isinstance(value, str) and not is_unicode(value):
            # of a bad row
            return
        if may_be_missing(value):
            self.na[value.strip()] = self.na.get(value.strip(), 0) + 1
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
            comma = number is not None and isinstance(value, str) and "," in value
            self._count(value, label_key(str(number)) if comma else label_key(value))
        if self.measured < MEASURED_ROWS and isinstance(value, str):
            self.measured += 1
            self.words += max(len(value.split()), 0 if value.isascii() else len(NO_SPACES.findall(value)) // 2)
            self.characters += len(value)

    def _count(self, value: Any, key: str, rows: int = 1) -> None:
        self.counts[key] = self.counts.get(key, 0) + rows
        self.spellings.add(value, key)
        self.overflow = len(self.counts) > MOST_DISTINCT

    def settle_missing_words(self, keep_na: bool) -> None:
        """Count the words that are values in this column after all; the others stay in `na`."""
        others, numbers = list(self.counts), self.is_number
        for word, rows in list(self.na.items()):
            if keep_na or not means_missing(word, others, numbers):
                self.filled += rows
                self._count(word, label_key(word), rows)
                self.sample = self.sample or word
                del self.na[word]

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
        counts, na = dict(self.counts), dict(self.na)
        for key, count in (*other.counts.items(), *other.na.items()):
            # what a word means is settled by the first file that has it
            into = na if key in na or (key in other.na and key not in counts) else counts
            into[key] = into.get(key, 0) + count
        spellings = LabelSpellings()
        spellings.texts = {**other.spellings.texts, **self.spellings.texts}
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
            na=na,
            spellings=spellings,
        )


@dataclass
class FileProfile:
    """What is in a file."""

    path: Path
    # for example "semicolon-separated, Windows-1252"
    description: str
    columns: dict[str, ColumnProfile]
    rows: int = 0
    # rows that cannot be read, and the first of them
    bad_rows: int = 0
    first_bad: RejectedRow | None = None
    # rows with bytes that are not UTF-8
    other_encoding: int = 0

    def row_warnings(self) -> list[str]:
        """Rows that training will reject, whatever the task."""
        if not self.other_encoding:
            return []
        return [f"{self.path.name}: {self.other_encoding:,} of {plural(self.rows, 'row')} have text that {NOT_UTF8}"]


def profile_file(path: Path, keep_na: bool = False) -> FileProfile:
    """`keep_na`: N/A, NaN and the like are values."""
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
    for column in columns:
        column.settle_missing_words(keep_na)
    if not found.rows:
        raise no_rows(found, layout)
    if 2 * found.other_encoding > found.rows:
        raise not_utf8(path, found.other_encoding, found.rows)
    check_names(found)
    return found


def read_good_rows(found: FileProfile, names: list[str]) -> Iterator[list[Any]]:
    for line, values in ColumnReader(found.path, names, ""):
        if isinstance(values, str):
            found.bad_rows += 1
            found.first_bad = found.first_bad or RejectedRow(found.path, line, values)
        else:
            found.rows += 1
            found.other_encoding += any(isinstance(value, str) and not is_unicode(value) for value in values)
            yield values


def no_rows(found: FileProfile, layout: FileLayout) -> UserError:
    """The error about a file in which no row can be used."""
    names = ", ".join(name for name in layout.columns if name.strip())
    if found.first_bad is None:
        return UserError(
            f"{found.path}: a header line and no rows ({found.description}).",
            f"The columns are {names or '(none with a name)'}. Add rows, or name another file.",
        )
    if not layout.columns:
        how = HOW_TO_WRITE_ROWS
    elif TOO_MANY_FIELDS in found.first_bad.reason:
        first = cut_text(names)
        how = f"Its first line was read as the names of the columns: {first}. "
        unless = "If they are not, remove" if len(layout.columns) > 1 else "Remove"
        quotes = f" {QUOTE_TEXTS}" if len(layout.columns) > 1 else ""
        how += f"{unless} what is above the header line.{quotes}"
    else:
        how = "Correct the rows, or name another file."
    return UserError(f"{found.first_bad}\nNone of its {found.bad_rows:,} rows can be read ({found.description}).", how)


def check_header(path: Path, header: list[str]) -> None:
    """Refuse a file that begins with its first row: a name is neither a number nor a sentence."""
    if header and header[0].startswith(FASTTEXT_LABEL):
        raise fasttext_file(path)
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
