"""A csv, tsv, jsonl, json, parquet or xlsx file (each .gz too) -> the values of some columns, row by row."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from minbert.data.column_request import ColumnRequest, FileRow, empty_file_error
from minbert.data.csv_rows import CsvFile
from minbert.data.json_rows import field_names, json_file_rows, json_records
from minbert.data.parquet_rows import open_parquet, parquet_names, parquet_rows
from minbert.data.spreadsheet import open_sheet
from minbert.data.text_format import BAD_BYTES, ENCODINGS, describe_text, find_encoding
from minbert.errors import UserError, missing_file

FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx")
# of a file whose rows name their own columns: rows that show which there are
ROWS_FOR_NAMES = 1000


def format_of(path: Path) -> tuple[str, bool]:
    """(csv | tsv | jsonl | json | parquet | xlsx, is it gzipped) from a file's name."""
    suffixes = [suffix.lower().lstrip(".") for suffix in path.suffixes]
    gzipped = bool(suffixes) and suffixes[-1] == "gz"
    kind = suffixes[-2 if gzipped else -1] if len(suffixes) > gzipped else ""
    kind = {"txt": "tsv", "ndjson": "jsonl", "pq": "parquet"}.get(kind, kind)
    if kind not in FORMATS:
        known = f"Known endings: .{', .'.join(FORMATS)}, also with .gz."
        how = "Save it as .xlsx or .csv. " if kind in ("xls", "ods") else ""
        raise UserError(f"{path}: unknown kind of file.", how + known)
    return kind, gzipped


@dataclass(frozen=True)
class FileLayout:
    """The columns of a file, and how it is read, for example "semicolon-separated, Windows-1252"."""

    columns: list[str]
    description: str


class ColumnReader:
    """Some columns of a file, read row by row in little memory, with the progress of reading.

    `exact`: a row with fewer fields than the header is a bad row; otherwise its missing fields are empty.
    """

    def __init__(
        self, path: Path, columns: Sequence[str], id_column: str, delimiter: str = "", *, exact: bool = False
    ) -> None:
        if not path.is_file():
            raise missing_file(path)
        self.kind, self.gzipped = format_of(path)
        self.path = path
        self.columns = list(columns)
        self.id_column = id_column
        self.request = ColumnRequest(path, self.columns, id_column, delimiter, exact)
        self.unit: Literal["bytes", "rows"] = "rows" if self.kind in ("parquet", "xlsx") else "bytes"
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
        with self._opened() as bare:
            if self.unit == "bytes":
                with self._text(bare) as (file, _):
                    yield from self._text_rows(file)
            else:
                self._rows = 0
                for row in self._parquet(bare) if self.kind == "parquet" else self._xlsx(bare):
                    self._rows += 1
                    yield row

    def layout(self) -> FileLayout:
        """All columns of the file."""
        with self._opened() as bare:
            if self.kind == "parquet":
                with open_parquet(self.path, bare, self.gzipped) as found:
                    return FileLayout(parquet_names(found.schema_arrow), "parquet")
            if self.kind == "xlsx":
                with open_sheet(self.path, bare) as sheet:
                    return FileLayout(sheet.header, sheet.description)
            with self._text(bare) as (file, encoding):
                if self.kind in ("csv", "tsv"):
                    table = CsvFile(file, self.request, self.kind == "tsv")
                    return FileLayout(table.header, describe_text(encoding, table.delimiter))
                records = islice(json_records(file, self.path, self.kind == "jsonl"), ROWS_FOR_NAMES)
                names = dict.fromkeys(name for _, row in records if isinstance(row, dict) for name in field_names(row))
                return FileLayout(list(names), f"JSON, {describe_text(encoding, '')}")

    def _text_rows(self, file: IO[str]) -> Iterator[FileRow]:
        if self.kind in ("csv", "tsv"):
            return CsvFile(file, self.request, self.kind == "tsv").rows()
        return json_file_rows(file, self.request, self.kind == "jsonl")

    def _parquet(self, bare: BinaryIO) -> Iterator[FileRow]:
        with open_parquet(self.path, bare, self.gzipped) as file:
            self.total = file.metadata.num_rows
            yield from parquet_rows(file, self.request)

    def _xlsx(self, bare: BinaryIO) -> Iterator[FileRow]:
        with open_sheet(self.path, bare) as sheet:
            self.total = sheet.total
            yield from sheet.rows(self.request)

    @contextmanager
    def _text(self, bare: BinaryIO) -> Iterator[tuple[IO[str], str]]:
        """The file as text, and its encoding."""
        encoding = find_encoding(bare)
        if encoding == "cp1252" and self.kind in ("jsonl", "json"):
            # JSON is Unicode (RFC 8259)
            encoding = "utf-8-sig"
        bare.seek(0)
        try:
            with io.TextIOWrapper(bare, encoding=encoding, errors=BAD_BYTES[encoding], newline="") as file:
                yield file, encoding
        except UnicodeDecodeError as wrong:
            raise UserError(f"{self.path}: not whole {ENCODINGS[encoding]} text: {wrong.reason}") from None

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with self.path.open("rb") as raw:
                self._raw = raw
                yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self.gzipped else raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as wrong:
            why = "damaged, or not gzipped" if isinstance(wrong, gzip.BadGzipFile) else "cut off or damaged"
            raise UserError(
                f"{self.path}: not a whole gzip file: {why}.", "Copy it again, or remove .gz from its name."
            ) from None
        except OSError as wrong:
            raise UserError(f"{self.path}: cannot be read: {wrong.strerror or wrong}") from None


def read_columns(path: Path, columns: Sequence[str], id_column: str, delimiter: str = "") -> Iterator[FileRow]:
    """Every row of a file."""
    return iter(ColumnReader(path, columns, id_column, delimiter))


def read_layout(path: Path, delimiter: str = "") -> FileLayout:
    """All columns of a file, and how it is read."""
    return ColumnReader(path, [], "", delimiter).layout()
