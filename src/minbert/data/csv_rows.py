"""The text of a csv file -> its rows, each with the number of its first line."""

import csv
import re
import threading
from collections import deque
from collections.abc import Iterator
from typing import IO

from minbert.data.column_request import ColumnRequest, FileRow, empty_file_error
from minbert.data.text_format import SAMPLE_LINES, SAVE_AS_UTF8, find_delimiter, is_unicode
from minbert.errors import UserError

# Python's csv refuses fields above 128 KiB; documents may be longer. A quote that is never closed makes one field of
# everything after it: this much of it is read, and kept in memory, before the row is rejected.
LONGEST_FIELD = 2**24
LONGEST_LINE = 2**25
# of the first lines, which show the delimiter
SAMPLE_CHARACTERS = 2**20
# sep=; in the first line: how Excel is told the delimiter
SEP_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)
# csv has one limit for the whole process: it is raised for one record at a time
CSV_LIMIT = threading.Lock()


class CsvFile:
    """A csv file behind its header line."""

    def __init__(self, file: IO[str], request: ColumnRequest, is_tsv: bool) -> None:
        self.request = request
        self.source = RecordLines(file)
        declared = self._go_to_header()
        lines = self.source.peek(1)
        if not lines:
            raise empty_file_error(request.path)
        if "\x00" in lines[0]:
            raise UserError(
                f"{request.path}:1: the header line has a NUL byte, so it is not UTF-8 text, or the file is damaged.",
                SAVE_AS_UTF8,
            )
        if not is_unicode(lines[0]):
            raise UserError(f"{request.path}:1: the header line is not UTF-8 text.", SAVE_AS_UTF8)
        self.delimiter = request.delimiter or declared
        if not self.delimiter:
            self.delimiter = find_delimiter(lines[0], lambda: self.source.peek(SAMPLE_LINES), is_tsv)
        self.reader = csv.reader(self.source, delimiter=self.delimiter, strict=True)
        try:
            self.header = next_record(self.reader)
        except csv.Error as wrong:
            raise UserError(f"{request.path}:1: broken quoting in the header line: {wrong}") from None

    def _go_to_header(self) -> str:
        """Pass blank lines, and the line in which Excel declares the delimiter, which is returned."""
        declared = ""
        while (lines := self.source.peek(1)) and (
            (found := SEP_LINE.fullmatch(lines[0])) or not lines[0].strip(" \r\n")
        ):
            declared = found[1] if found else declared
            next(self.source)
            self.source.begin()
        return declared

    def rows(self) -> Iterator[FileRow]:
        places = self.request.places(self.header)
        while True:
            line = self.source.begin()
            try:
                row = next_record(self.reader)
            except StopIteration:
                return
            except csv.Error as wrong:
                yield line, str(wrong) if self.source.overlong else f"broken quoting: {wrong}"
                # a quote that is never closed took the lines after it too, which are separate rows
                self.source.give_back()
                self.reader = csv.reader(self.source, delimiter=self.delimiter, strict=True)
                continue
            if row:
                yield line, self.request.pick(row, self.header, places)


def next_record(reader: Iterator[list[str]]) -> list[str]:
    """The next record of a csv reader, with fields of up to LONGEST_FIELD characters."""
    with CSV_LIMIT:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            return next(reader)
        finally:
            csv.field_size_limit(before)


class Overlong(csv.Error):
    """A line that is too long to be parsed."""


class RecordLines:
    """The lines of a file, counted; those of the current record can be read again."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.line = 1
        # None: a line that is too long
        self.waiting: deque[str | None] = deque()
        self.taken: list[str | None] = []

    def __iter__(self) -> "RecordLines":
        return self

    def __next__(self) -> str:
        line = self.waiting.popleft() if self.waiting else self._read()
        self.taken.append(line)
        if line is None:
            raise Overlong(f"a line of more than {LONGEST_LINE:,} characters")
        return line

    def peek(self, count: int) -> list[str]:
        """The first lines, fewer of them if they are long; they stay unread."""
        while len(self.waiting) < count and sum(len(line or "") for line in self.waiting) < SAMPLE_CHARACTERS:
            try:
                self.waiting.append(self._read())
            except StopIteration:
                break
        return [line for line in self.waiting if line is not None]

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
