"""A csv, tsv, jsonl or parquet file (each .gz too) -> the values of some of its columns, row by row."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Sequence
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
        raise UserError(f"{path}: the file is empty.", "A data file needs a header line and at least one row.")
    try:
        if kind == "parquet":
            yield from _parquet(path, columns, id_column, gzipped)
        elif kind == "jsonl":
            with open_text(path, gzipped) as file:
                yield from _jsonl(path, file, columns, id_column)
        else:
            with open_text(path, gzipped) as file:
                yield from _csv(path, file, columns, id_column, delimiter or ("\t" if kind == "tsv" else ""))
    except (gzip.BadGzipFile, EOFError) as wrong:
        raise UserError(f"{path}: not a whole gzip file: {wrong}") from None


def require(path: Path, columns: Iterable[str], found: Sequence[str]) -> None:
    for column in columns:
        if column not in found:
            named = [name for name in found if name]
            raise UserError(
                f"{path}: no column '{column}'. {did_you_mean(column, named)}",
                f"The file has the columns {', '.join(named) or '(none with a name)'}.",
            )


def _csv(
    path: Path, file: IO[str], columns: Sequence[str], id_column: str, delimiter: str
) -> Iterator[tuple[int, list[Any] | str]]:
    first = file.readline()
    # the course's files end in .csv and are separated by tabs: the header line tells
    delimiter = delimiter or ("\t" if "\t" in first else ",")
    header = next(csv.reader([first], delimiter=delimiter), [])
    require(path, columns, header)
    places = [header.index(column) for column in columns]
    id_place = header.index(id_column) if id_column in header else None
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 2  # where this record starts; the header was line 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as wrong:
            yield line, f"broken quoting: {wrong}"
            continue
        if not row:
            continue
        if len(row) != len(header):
            if len(row) > len(header):
                yield line, f"{len(row)} fields where the header has {len(header)}"
                continue
            row += [""] * (len(header) - len(row))
        yield line, [row[i] for i in places] + [None if id_place is None else row[id_place]]


def _jsonl(path: Path, file: IO[str], columns: Sequence[str], id_column: str) -> Iterator[tuple[int, list[Any] | str]]:
    checked = False
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
        if not checked:
            require(path, columns, list(row))
            checked = True
        yield line, [row.get(column) for column in columns] + [row.get(id_column)]


def _parquet(
    path: Path, columns: Sequence[str], id_column: str, gzipped: bool
) -> Iterator[tuple[int, list[Any] | str]]:
    import pyarrow
    import pyarrow.parquet

    try:
        source = io.BytesIO(gzip.decompress(path.read_bytes())) if gzipped else path
        file = pyarrow.parquet.ParquetFile(source)
    except pyarrow.ArrowInvalid as wrong:
        raise UserError(f"{path}: not a parquet file: {wrong}") from None
    require(path, columns, file.schema_arrow.names)
    has_id = id_column in file.schema_arrow.names
    wanted = list(dict.fromkeys([*columns, *([id_column] if has_id else [])]))
    line = 0
    for batch in file.iter_batches(columns=wanted):
        values = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in columns]
        names = batch.column(batch.schema.get_field_index(id_column)).to_pylist() if has_id else None
        for i in range(batch.num_rows):
            line += 1
            yield line, [column[i] for column in values] + [names[i] if names else None]
