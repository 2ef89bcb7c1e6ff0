"""The first sheet of an .xlsx file -> its rows, with cells as the text that a csv file would have."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from minbert.data.column_request import DAMAGED, ColumnRequest, FileRow, empty_file_error
from minbert.errors import UserError


class Sheet:
    """The first sheet of a workbook: its name, its header and its rows below it."""

    def __init__(self, path: Path, workbook: Any) -> None:
        sheet = workbook.worksheets[0]
        self.name: str = sheet.title
        self.of = len(workbook.worksheets)
        self.total = max(0, (sheet.max_row or 1) - 1)
        # some programs write a wrong size
        sheet.reset_dimensions()
        self.cells = enumerate(sheet.iter_rows(values_only=True), 1)
        self.header: list[str] = next((texts for _, row in self.cells if any(texts := texts_of_row(row))), [])
        if not self.header:
            raise empty_file_error(path)

    @property
    def description(self) -> str:
        return f"sheet '{self.name}'" + (f", the first of {self.of}" if self.of > 1 else "")

    def rows(self, request: ColumnRequest) -> Iterator[FileRow]:
        places = request.places(self.header)
        for number, cells in self.cells:
            row = texts_of_row(cells)
            if row:
                row += [""] * (len(self.header) - len(row))
                yield number, request.pick(row, self.header, places)


@contextmanager
def open_sheet(path: Path, file: BinaryIO) -> Iterator[Sheet]:
    try:
        import openpyxl
    except ImportError:
        raise UserError(
            f"{path}: reading .xlsx files needs openpyxl, which is not installed.",
            "Install it with: pip install 'minbert[excel]'. Or save the sheet as a csv file.",
        ) from None
    try:
        with warnings.catch_warnings():
            # about styles and validation rules, which are not read
            warnings.simplefilter("ignore")
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as wrong:
        # it may be any error of zipfile, of the XML parser, or of openpyxl
        raise UserError(f"{path}: not a whole .xlsx file: {wrong}", DAMAGED) from None
    try:
        yield Sheet(path, workbook)
    finally:
        workbook.close()


def texts_of_row(cells: tuple[Any, ...]) -> list[str]:
    """The cells of a row, without the empty ones behind the last."""
    texts = [text_of_cell(cell) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def text_of_cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return cell if isinstance(cell, str) else str(cell)
