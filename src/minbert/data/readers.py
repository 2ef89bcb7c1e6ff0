"""A csv, tsv, jsonl or parquet file (each .gz too) -> the values of some of its columns, row by row."""

import csv
import gzip
import io
import json
import shutil
import tempfile
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

from minbert.errors import UserError, did_you_mean

FORMATS = ("csv", "tsv", "jsonl", "parquet")
# Python's csv refuses fields above 128 KiB; documents may be longer. A quote that is never closed makes one field of
# everything after it: this much of it is read, and kept in memory, before the row is rejected.
LONGEST_FIELD = 2**24
LONGEST_LINE = 2**25
# csv has one limit for the whole process: it is raised for one record at a time
CSV_LIMIT = threading.Lock()
# of a parquet file: rows decoded at once, and bytes of a column read at once
PARQUET_ROWS = 1024
BUFFER = 2**20
# of a jsonl file: column names kept for the message that a column is missing
MAX_COLUMN_NAMES = 100

# (line, values of the columns and of the id), or (line, what is wrong with it)
FileRow = tuple[int, list[Any] | str]


def format_of(path: Path) -> tuple[str, bool]:
    """(csv | tsv | jsonl | parquet, is it gzipped) from a file's name."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    gzipped = bool(suffixes) and suffixes[-1] == "gz"
    kind = suffixes[-2 if gzipped else -1] if len(suffixes) > gzipped else ""
    kind = {"txt": "tsv", "ndjson": "jsonl", "pq": "parquet"}.get(kind, kind)
    if kind not in FORMATS:
        raise UserError(f"{path}: unknown kind of file.", f"Known endings: .{', .'.join(FORMATS)}, also with .gz.")
    return kind, gzipped


class ColumnReader:
    """Some columns of a file, read row by row in little memory, with the progress of reading.

    `exact`: a row with fewer fields than the header is a bad row; otherwise its missing fields are empty.
    """

    def __init__(
        self, path: Path, columns: Sequence[str], id_column: str, delimiter: str = "", *, exact: bool = False
    ) -> None:
        if not path.is_file():
            raise UserError(f"{path}: no such file.")
        self.kind, self.gzipped = format_of(path)
        self.path = path
        self.columns = list(columns)
        self.id_column = id_column
        self.delimiter = delimiter or ("\t" if self.kind == "tsv" else "")
        self.exact = exact
        self.unit: Literal["bytes", "rows"] = "rows" if self.kind == "parquet" else "bytes"
        # rows are counted when reading begins
        self.total = path.stat().st_size if self.unit == "bytes" else 0
        self._raw: BinaryIO | None = None
        self._rows = 0
        if not path.stat().st_size:
            raise empty_file_error(path)

    @property
    def done(self) -> int:
        """How much of `total` is read; of a gzipped file, how many of its compressed bytes."""
        if self.unit == "rows":
            return self._rows
        return 0 if self._raw is None else self.total if self._raw.closed else self._raw.tell()

    def __iter__(self) -> Iterator[FileRow]:
        try:
            with self.path.open("rb") as raw:
                self._raw = raw
                bare = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self.gzipped else raw
                if self.kind == "parquet":
                    yield from self._parquet(bare)
                    return
                # surrogateescape keeps bad bytes visible as lone surrogates, so that the row can be rejected
                with io.TextIOWrapper(bare, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                    yield from self._jsonl(file) if self.kind == "jsonl" else self._csv(file)
        except (gzip.BadGzipFile, EOFError, zlib.error) as wrong:
            raise UserError(f"{self.path}: not a whole gzip file: {wrong}") from None
        except OSError as wrong:
            raise UserError(f"{self.path}: cannot be read: {wrong.strerror or wrong}") from None

    def _csv(self, file: IO[str]) -> Iterator[FileRow]:
        first = file.readline(LONGEST_LINE)
        if not first.strip("\r\n"):
            raise empty_file_error(self.path)
        if "\x00" in first or not is_unicode(first):
            raise UserError(
                f"{self.path}:1: the header line is not UTF-8 text.", "Save the file with the encoding UTF-8."
            )
        # some files end in .csv and are separated by tabs: the header line decides
        delimiter = self.delimiter or ("\t" if "\t" in first else ",")
        source = RecordLines(file, first)
        reader = csv.reader(source, delimiter=delimiter, strict=True)
        try:
            header = next_record(reader)
        except csv.Error as wrong:
            raise UserError(f"{self.path}:1: broken quoting in the header line: {wrong}") from None
        check_columns(self.path, self.columns, header)
        places = [header.index(column) for column in self.columns]
        id_place = header.index(self.id_column) if self.id_column in header else None
        while True:
            line = source.begin()
            try:
                row = next_record(reader)
            except StopIteration:
                return
            except csv.Error as wrong:
                yield line, str(wrong) if source.overlong else f"broken quoting: {wrong}"
                # a quote that is never closed took the lines after it too, which are separate rows
                source.give_back()
                reader = csv.reader(source, delimiter=delimiter, strict=True)
                continue
            if not row:
                continue
            if len(row) > len(header) or (self.exact and len(row) < len(header)):
                yield line, f"{len(row)} fields where the header has {len(header)}"
                continue
            row += [""] * (len(header) - len(row))
            yield line, [row[i] for i in places] + [None if id_place is None else row[id_place]]

    def _jsonl(self, file: IO[str]) -> Iterator[FileRow]:
        # rows may leave fields out, so only the whole file shows whether a column is there
        missing, found, rows = set(self.columns), dict[str, None](), False
        source = RecordLines(file)
        while True:
            line = source.begin()
            try:
                text = next(source)
                if not text.strip():
                    continue
                row = json.loads(text)
            except StopIteration:
                break
            except (Overlong, ValueError, RecursionError) as wrong:
                yield line, str(wrong) if source.overlong else f"not JSON: {wrong}"
                continue
            if not isinstance(row, dict):
                yield line, "not a JSON object"
                continue
            rows = True
            missing -= row.keys()
            if len(found) < MAX_COLUMN_NAMES:
                found.update(dict.fromkeys(row))
            yield line, [row.get(column) for column in self.columns] + [row.get(self.id_column)]
        if rows:
            check_columns(self.path, self.columns, [*found, *(set(self.columns) - missing - found.keys())])

    def _parquet(self, bare: BinaryIO) -> Iterator[FileRow]:
        import pyarrow
        import pyarrow.parquet

        with tempfile.TemporaryFile() as unzipped:
            if self.gzipped:
                # its index is at its end and must be read first
                shutil.copyfileobj(bare, unzipped)
            try:
                # without a buffer, a column of a whole row group is in memory at once
                file = pyarrow.parquet.ParquetFile(unzipped if self.gzipped else self.path, buffer_size=BUFFER)
                self.total = file.metadata.num_rows
                names = file.schema_arrow.names
                check_columns(self.path, self.columns, names)
                wanted = list(dict.fromkeys([*self.columns, *([self.id_column] if self.id_column in names else [])]))
                for batch in file.iter_batches(PARQUET_ROWS, columns=wanted):
                    values = {name: _values(batch.column(batch.schema.get_field_index(name))) for name in wanted}
                    ids = values.get(self.id_column, [None] * batch.num_rows)
                    for row in zip(*(values[name] for name in self.columns), ids, strict=True):
                        self._rows += 1
                        yield self._rows, list(row)
            except (pyarrow.ArrowException, OSError) as wrong:
                raise UserError(f"{self.path}: not a whole parquet file: {wrong}") from None


def next_record(reader: Iterator[list[str]]) -> list[str]:
    """The next record of a csv reader, with fields of up to LONGEST_FIELD characters."""
    with CSV_LIMIT:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            return next(reader)
        finally:
            csv.field_size_limit(before)


def read_columns(path: Path, columns: Sequence[str], id_column: str, delimiter: str = "") -> Iterator[FileRow]:
    """Every row of a file."""
    return iter(ColumnReader(path, columns, id_column, delimiter))


def empty_file_error(path: Path) -> UserError:
    return UserError(f"{path}: the file is empty.", "A data file needs a header line and at least one row.")


def check_columns(path: Path, columns: Iterable[str], found: Sequence[str]) -> None:
    for column in columns:
        if column not in found:
            named = [name for name in found if name]
            raise UserError(
                f"{path}: no column '{column}'. {did_you_mean(column, named)}",
                f"The file has the columns {', '.join(named) or '(none with a name)'}.",
            )
        if found.count(column) > 1:
            raise UserError(f"{path}: two columns are called '{column}'.", "Rename one of them.")


class Overlong(csv.Error):
    """A line that is too long to be parsed."""


class RecordLines:
    """The lines of a file, counted; those of the current record can be read again."""

    def __init__(self, file: IO[str], *first: str) -> None:
        self.file = file
        self.line = 1
        # None: a line that is too long
        self.waiting: deque[str | None] = deque(first)
        self.taken: list[str | None] = []

    def __iter__(self) -> "RecordLines":
        return self

    def __next__(self) -> str:
        line = self.waiting.popleft() if self.waiting else self._read()
        self.taken.append(line)
        if line is None:
            raise Overlong(f"a line of more than {LONGEST_LINE:,} characters")
        return line

    def _read(self) -> str | None:
        line = self.file.readline(LONGEST_LINE)
        if not line:
            raise StopIteration
        if len(line) < LONGEST_LINE or line[-1] in "\r\n":
            return line
        while line and line[-1] not in "\r\n":
            line = self.file.readline(LONGEST_LINE)
        return None

    def begin(self) -> int:
        """Begin a record, which may take several lines; returns its line number."""
        self.line += len(self.taken)
        self.taken.clear()
        return self.line

    @property
    def overlong(self) -> bool:
        """Whether the record is a line that is too long."""
        return self.taken == [None]

    def give_back(self) -> None:
        """Make all lines of the record but its first be read again."""
        self.waiting.extendleft(reversed(self.taken[1:]))
        del self.taken[1:]


def _values(column: Any) -> list[Any]:
    """A parquet column as Python values; bytes that are not UTF-8 become lone surrogates, as in text files."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raw = column.cast("binary").to_pylist()
        return [value if value is None else value.decode("utf-8", "surrogateescape") for value in raw]


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates, which are bytes that were not UTF-8, or \\ud800 in JSON."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
