"""The text of a jsonl or json file -> its objects, one after another. A nested field is called `data.text`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from minbert.data import csv_rows
from minbert.data.column_request import MAX_COLUMN_NAMES, ColumnRequest, FileRow, check_columns
from minbert.data.csv_rows import Overlong, RecordLines
from minbert.errors import UserError

# an object around an array of rows has it under one of these names
ROW_KEYS = ("data", "rows", "examples", "records", "items", "results")
BLOCK_CHARACTERS = 2**16
DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n\ufeff]*")
HOW_TO_WRITE_ROWS = 'Write one array of objects, [{"text": "...", "label": "..."}, ...], or one object per line.'

# (line, or row of an array; its object, or what is wrong with it)
Record = tuple[int, dict[str, Any] | str]


def json_file_rows(file: IO[str], request: ColumnRequest, is_lines: bool) -> Iterator[FileRow]:
    # rows may leave fields out, so only the whole file shows whether a column is there
    missing, found, rows = set(request.columns), dict[str, None](), False
    for line, record in json_records(file, request.path, is_lines):
        if isinstance(record, str):
            yield line, record
            continue
        rows = True
        missing -= {column for column in missing if has_field(record, column)}
        if len(found) < MAX_COLUMN_NAMES:
            found.update(dict.fromkeys(field_names(record)))
        yield line, [field_of(record, column) for column in (*request.columns, request.id_column)]
    if rows:
        check_columns(request.path, request.columns, [*found, *(set(request.columns) - missing - found.keys())])


def json_records(file: IO[str], path: Path, is_lines: bool) -> Iterator[Record]:
    """The objects of a file: one per line, or the elements of one array."""
    if is_lines and not opens_an_array(file):
        yield from line_records(file)
        return
    document = JsonDocument(file)
    row = 0
    try:
        if not document.find_rows(path):
            file.seek(0)
            yield from line_records(file)
            return
        for row, value in enumerate(document.elements(), 1):
            yield row, value if isinstance(value, dict) else "not a JSON object"
    except UserError:
        raise
    except (ValueError, RecursionError) as wrong:
        raise UserError(f"{path}: not JSON after row {row}: {wrong}", HOW_TO_WRITE_ROWS) from None


def opens_an_array(file: IO[str]) -> bool:
    """Whether a file that should have an object per line is one array of them."""
    lines = RecordLines(file)
    first = next((line for line in lines.peek(10) if line.strip()), "")
    file.seek(0)
    if not first.lstrip().startswith("["):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return len(first) < csv_rows.LONGEST_LINE
    # a whole array in the first of several lines is a bad row
    return sum(1 for line in lines.waiting if line is None or line.strip()) == 1


def line_records(file: IO[str]) -> Iterator[Record]:
    source = RecordLines(file)
    while True:
        line = source.begin()
        try:
            text = next(source)
            if not text.strip():
                continue
            row = json.loads(text)
        except StopIteration:
            return
        except (Overlong, ValueError, RecursionError) as wrong:
            yield line, str(wrong) if source.overlong else f"not JSON: {wrong}"
            continue
        yield line, row if isinstance(row, dict) else "not a JSON object"


class JsonDocument:
    """A JSON text of any length, of which one value at a time is in memory."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.text, self.at, self.ended = "", 0, False

    def find_rows(self, path: Path) -> bool:
        """Go to the array of rows; False if the file has one object per line."""
        if self.next_is("["):
            return True
        keys, columns, arrays = [], True, []
        if self.next_is("{"):
            while self.peek() not in ("}", ""):
                keys.append(self.value())
                self.expect(":")
                if keys[-1] in ROW_KEYS and self.next_is("["):
                    return True
                value = self.value()
                columns = isinstance(value, list | dict) and columns
                if isinstance(value, list) and value and isinstance(value[0], dict):
                    arrays.append(keys[-1])
                if not self.next_is(","):
                    break
            self.expect("}")
            if self.peek() == "{":
                return False
        if len(arrays) == 1:
            raise UserError(
                f"{path}: the rows are in the field '{arrays[0]}', which is not looked at.",
                f"Call it 'data', or write only its array: [{{...}}, ...]. Known names: {', '.join(ROW_KEYS)}.",
            )
        how = f"{HOW_TO_WRITE_ROWS} With pandas: df.to_json(path, orient='records')" if keys and columns else ""
        names = f" It is one object with the fields {', '.join(map(str, keys[:20]))}." if keys else ""
        raise UserError(f"{path}: no array of objects.{names}", how or HOW_TO_WRITE_ROWS)

    def elements(self) -> Iterator[Any]:
        """The values of the array that begins here."""
        while not self.next_is("]"):
            yield self.value()
            if not self.next_is(","):
                self.expect("]")
                return

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
                # a number at the end of what was read may go on
                if end < len(self.text) or self.ended:
                    self.at = end
                    return value
            except ValueError:
                if self.ended or len(self.text) - self.at > csv_rows.LONGEST_LINE:
                    raise
            self._read()

    def peek(self) -> str:
        """The next character that is not space; empty at the end."""
        while True:
            found = SPACE.match(self.text, self.at)
            assert found
            self.at = found.end()
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self._read()

    def next_is(self, character: str) -> bool:
        """Whether this character comes next; if so, it is passed."""
        found = self.peek() == character
        self.at += found
        return found

    def expect(self, character: str) -> None:
        if not self.next_is(character):
            raise ValueError(f"{self.peek() or 'the end of the file'!r} where '{character}' should be")

    def _read(self) -> None:
        # twice as much each time: a long value is not parsed again and again
        block = self.file.read(max(BLOCK_CHARACTERS, len(self.text) - self.at))
        self.text, self.at, self.ended = self.text[self.at :] + block, 0, not block


def has_field(record: dict[str, Any], name: str) -> bool:
    return find_field(record, name) is not None


def field_of(record: dict[str, Any], name: str) -> Any:
    found = find_field(record, name)
    return None if found is None else found[0]


def find_field(record: dict[str, Any], name: str) -> tuple[Any] | None:
    """The value of `data.text` in {"data": {"text": ...}}, or in {"data.text": ...}."""
    if name in record:
        return (record[name],)
    head, dot, rest = name.partition(".")
    while dot:
        inner = record.get(head)
        if isinstance(inner, dict) and (found := find_field(inner, rest)):
            return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def field_names(record: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The names of all fields that hold no fields themselves."""
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from field_names(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
