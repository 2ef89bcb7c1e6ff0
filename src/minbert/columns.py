"""A csv, tsv, jsonl or parquet file (each .gz too) -> the values of some of its columns, row by row."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from minbert.errors import UserError, did_you_mean

FORMATS = ("csv", "tsv", "jsonl", "parquet")
# Python's csv refuses fields above 128 KiB; documents may be longer.
csv.field_size_limit(2**31 - 1)


def format_of(path: Path) -> tuple[str, bool]:
    """(csv | tsv | jsonl | parquet, is it gzipped) from a file's name."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    gzipped = bool(suffixes) and suffixes[-1] == "gz"
    kind = suffixes[-2 if gzipped else -1] if len(suffixes) > gzipped else ""
    kind = {"txt": "tsv", "ndjson": "jsonl", "pq": "parquet"}.get(kind, kind)
    if kind not in FORMATS:
        raise UserError(f"{path}: unknown kind of file.", f"Known endings: .{', .'.join(FORMATS)}, also with .gz.")
    return kind, gzipped


def open_text(path: Path, gzipped: bool) -> IO[str]:
    # surrogateescape keeps bad bytes visible as lone surrogates, so that the row can be named
    if gzipped:
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def read_columns(
    path: Path, columns: Sequence[str], id_column: str, delimiter: str = ""
) -> Iterator[tuple[int, list[Any] | str]]:
    """(line, values of the columns and of the id), or (line, what is wrong with it)."""
    if not path.is_file():
        raise UserError(f"{path}: no such file.")
    kind, gzipped = format_of(path)
    if path.stat().st_size == 0:
        raise nothing_in(path)
    try:
        if kind == "parquet":
            yield from _parquet(path, columns, id_column, gzipped)
        elif kind == "jsonl":
            with open_text(path, gzipped) as file:
                yield from _jsonl(path, file, columns, id_column)
        else:
            with open_text(path, gzipped) as file:
                yield from _csv(path, file, columns, id_column, delimiter or ("\t" if kind == "tsv" else ""))
    except (gzip.BadGzipFile, EOFError, zlib.error) as wrong:
        raise UserError(f"{path}: not a whole gzip file: {wrong}") from None
    except OSError as wrong:
        raise UserError(f"{path}: cannot be read: {wrong.strerror or wrong}") from None


def nothing_in(path: Path) -> UserError:
    return UserError(f"{path}: the file is empty.", "A data file needs a header line and at least one row.")


def require(path: Path, columns: Iterable[str], found: Sequence[str]) -> None:
    for column in columns:
        if column not in found:
            named = [name for name in found if name]
            raise UserError(
                f"{path}: no column '{column}'. {did_you_mean(column, named)}",
                f"The file has the columns {', '.join(named) or '(none with a name)'}.",
            )


class Recorded:
    """Lines, with those of the current record remembered, so that they can be read again."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.taken: list[str] = []

    def __iter__(self) -> "Recorded":
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.taken.append(line)
        return line

    def give_back(self) -> None:
        """Let all lines of the record but its first be read again."""
        self.lines = chain(self.taken[1:], self.lines)


def _csv(
    path: Path, file: IO[str], columns: Sequence[str], id_column: str, delimiter: str
) -> Iterator[tuple[int, list[Any] | str]]:
    first = file.readline()
    if not first.strip("\r\n"):
        raise nothing_in(path)
    if "\x00" in first or not is_unicode(first):
        raise UserError(f"{path}:1: the header line is not UTF-8 text.", "Save the file with the encoding UTF-8.")
    # the course's files end in .csv and are separated by tabs: the header line tells
    delimiter = delimiter or ("\t" if "\t" in first else ",")
    source = Recorded(chain([first], file))
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    try:
        header = next(reader)
    except csv.Error as wrong:
        raise UserError(f"{path}:1: broken quoting in the header line: {wrong}") from None
    require(path, columns, header)
    places = [header.index(column) for column in columns]
    id_place = header.index(id_column) if id_column in header else None
    after = 1 + len(source.taken)
    while True:
        line = after  # where this record starts: it may hold quoted newlines
        source.taken.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as wrong:
            yield line, f"broken quoting: {wrong}"
            # a quote that never closes took the lines behind it too, which are rows of their own
            source.give_back()
            reader = csv.reader(source, delimiter=delimiter, strict=True)
            after = line + 1
            continue
        after = line + len(source.taken)
        if not row:
            continue
        if len(row) != len(header):
            if len(row) > len(header):
                yield line, f"{len(row)} fields where the header has {len(header)}"
                continue
            row += [""] * (len(header) - len(row))
        yield line, [row[i] for i in places] + [None if id_place is None else row[id_place]]


def _jsonl(path: Path, file: IO[str], columns: Sequence[str], id_column: str) -> Iterator[tuple[int, list[Any] | str]]:
    # rows may leave fields out, so only the whole file tells whether a column is there
    found: dict[str, None] = {}
    rows = False
    for line, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as wrong:
            yield line, f"not JSON: {wrong}"
            continue
        if not isinstance(row, dict):
            yield line, "not a JSON object"
            continue
        rows = True
        found.update(dict.fromkeys(row))
        yield line, [row.get(column) for column in columns] + [row.get(id_column)]
    if rows:
        require(path, columns, list(found))


def _parquet(
    path: Path, columns: Sequence[str], id_column: str, gzipped: bool
) -> Iterator[tuple[int, list[Any] | str]]:
    import pyarrow
    import pyarrow.parquet

    source = io.BytesIO(gzip.decompress(path.read_bytes())) if gzipped else path
    try:
        file = pyarrow.parquet.ParquetFile(source)
        require(path, columns, file.schema_arrow.names)
        has_id = id_column in file.schema_arrow.names
        wanted = list(dict.fromkeys([*columns, *([id_column] if has_id else [])]))
        line = 0
        for batch in file.iter_batches(columns=wanted):
            values = {name: _values(batch.column(batch.schema.get_field_index(name))) for name in wanted}
            for i in range(batch.num_rows):
                line += 1
                identity = values[id_column][i] if has_id else None
                yield line, [*(values[name][i] for name in columns), identity]
    except (pyarrow.ArrowException, OSError) as wrong:
        raise UserError(f"{path}: not a whole parquet file: {wrong}") from None


def _values(column: Any) -> list[Any]:
    """A parquet column as Python values; strings that are no UTF-8 as `open_text` gives them."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raw = column.cast("binary").to_pylist()
        return [value if value is None else value.decode("utf-8", "surrogateescape") for value in raw]


def is_unicode(text: str) -> bool:
    """Whether a text holds no lone surrogates: neither bytes that were no UTF-8 nor \\ud800 in JSON."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
