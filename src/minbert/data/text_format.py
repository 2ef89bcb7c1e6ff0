"""The bytes of a text file -> its encoding and its delimiter.

UTF-16 is known by its byte order mark. A file is Windows-1252 if it has bytes that are not UTF-8, at most one character
that is valid UTF-8 and not ASCII for every 20 of them, and at least two ASCII letters for each, as western languages
have. Otherwise it is UTF-8, and the rows with bad bytes are rejected one by one. The whole file decides, so a file is
never read half in one encoding.
"""

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from minbert.errors import UserError

ENCODINGS = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
# how bytes that are not text in the encoding stay visible as lone surrogates, so that their rows are rejected
BAD_BYTES = {"utf-8-sig": "surrogateescape", "utf-16": "surrogatepass", "cp1252": "strict"}
DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}
NOT_UTF8 = "is not valid UTF-8"
SAVE_AS_UTF8 = "Save the file with the encoding UTF-8."
BLOCK_BYTES = 2**20
# NUL, and the bytes that mean nothing in Windows-1252
NOT_WINDOWS = re.compile(rb"[\x00\x81\x8d\x8f\x90\x9d]")
NOT_LETTERS = bytes(byte for byte in range(256) if not chr(byte).isalpha() or byte > 127)
ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
# lines that show which of several characters of the header line is the delimiter
SAMPLE_LINES = 20


def find_encoding(file: BinaryIO) -> str:
    """The name of a file's encoding; reads all of it."""
    block = file.read(BLOCK_BYTES)
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not block.startswith(codecs.BOM_UTF32_LE):
        return "utf-16"
    if block.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    valid = invalid = letters = 0
    windows = True
    while block:
        windows = windows and not NOT_WINDOWS.search(block)
        if not block.isascii() or decoder.getstate()[0]:
            good, bad = count_characters(decoder.decode(block))
            valid, invalid = valid + good, invalid + bad
        letters += len(block.translate(None, NOT_LETTERS))
        block = file.read(BLOCK_BYTES)
    invalid += count_characters(decoder.decode(b"", True))[1]
    return "cp1252" if windows and 0 < invalid <= letters / 2 and 20 * valid <= invalid else "utf-8-sig"


def count_characters(text: str) -> tuple[int, int]:
    """How many characters are neither ASCII nor bad bytes, and how many are bad bytes."""
    others = len(text) - len(text.encode("ascii", "ignore"))
    bad = 0 if is_unicode(text) else len(ESCAPED_BYTE.findall(text))
    return others - bad, bad


def find_delimiter(header: str, first_lines: Callable[[], list[str]], is_tsv: bool) -> str:
    """The delimiter of a csv file by its header line and, if that has several candidates, by the rows below it."""
    fields = {delimiter: len(first_record(header, delimiter)) for delimiter in DELIMITERS}
    candidates = [delimiter for delimiter, count in fields.items() if count > 1]
    if fields["\t"] > 1 or not candidates:
        return "\t" if is_tsv or fields["\t"] > 1 else ","
    if len(candidates) == 1 and not is_tsv:
        return candidates[0]
    rows = first_lines()[1:]
    fitting = {each: matching_rows(rows, each, fields[each]) for each in candidates}
    best = max(candidates, key=lambda each: (fitting[each], fields[each]))
    # a file that should have tabs and has one column may have any character in it
    return best if not is_tsv or fitting[best] == len(rows) > 0 else "\t"


def matching_rows(lines: Sequence[str], delimiter: str, fields: int) -> int:
    return sum(len(first_record(line, delimiter)) == fields for line in lines)


def first_record(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def describe_text(encoding: str, delimiter: str) -> str:
    """For example "semicolon-separated, Windows-1252"."""
    separated = f"{DELIMITERS.get(delimiter, repr(delimiter))}-separated, " if delimiter else ""
    return separated + ENCODINGS[encoding]


def not_utf8(path: Path, bad: int, rows: int) -> UserError:
    """The error about a file of which most rows are in another encoding."""
    return UserError(f"{path}: this file is not UTF-8: {bad:,} of {rows:,} rows have other bytes.", SAVE_AS_UTF8)


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates, which are bytes that were not UTF-8, or \\ud800 in JSON."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
