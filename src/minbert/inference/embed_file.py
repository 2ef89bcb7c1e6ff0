"""A text file, or a column of a table -> one vector per text, in a NumPy file of any length."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert.data.chunks import chunk_is_full
from minbert.data.readers import ColumnReader
from minbert.data.text_format import is_unicode
from minbert.errors import UserError, missing_file
from minbert.inference.embedder import Embedder
from minbert.inference.resumable_job import ChunkOutput, Job, Unit, dtype_name, model_sha256

# a file with one of these endings is a table
TABLE_SUFFIXES = {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".xlsx"}


class TextLines:
    """The lines of a text file, and how much of it has been read."""

    unit: Unit = "bytes"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = 0
        try:
            self.total = path.stat().st_size
        except FileNotFoundError:
            raise UserError(f"{path}: no such file.") from None

    def texts(self) -> Iterator[str]:
        with self.path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if not is_unicode(line):
                    raise UserError(f"{self.path}:{number}: not UTF-8 text.", "Save the file with the encoding UTF-8.")
                self.done = raw.tell()
                yield line.removesuffix("\n")

    def count(self) -> int:
        """Read all lines; returns how many there are."""
        count, longest = 0, 0
        for line in self.texts():
            count, longest = count + 1, max(longest, len(line))
        if count < 2 and not longest:
            raise UserError(f"{self.path}: the file is empty.", "It needs one text per line.")
        return count


class TextColumn(ColumnReader):
    """The texts in a column of a csv, tsv, jsonl or parquet file; an empty field is an empty text."""

    def __init__(self, path: Path, column: str) -> None:
        # "": no column of ids
        super().__init__(path, [column], "")

    def texts(self) -> Iterator[str]:
        for line, values in self:
            if isinstance(values, str):
                raise UserError(f"{self.path}:{line}: {values}.")
            text = "" if values[0] is None else str(values[0])
            if not is_unicode(text):
                raise UserError(f"{self.path}:{line}: not UTF-8 text.", "Save the file with the encoding UTF-8.")
            yield text

    def count(self) -> int:
        """Read all rows; returns how many there are."""
        return sum(1 for _ in self.texts())


def check_is_text(path: Path) -> None:
    """UserError for a table of which no column was named."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        return
    if not path.is_file():
        raise missing_file(path)
    columns = ""
    try:
        # no column has this name, so the message lists those that there are
        TextColumn(path, "\0").count()
    except UserError as wrong:
        columns = wrong.next_step
    raise UserError(
        f"{path}: a table, not one text per line.", f"Name the column of the texts: --column NAME. {columns}"
    )


@dataclass(frozen=True)
class LineChunk:
    texts: list[str]

    @property
    def rows(self) -> int:
        return len(self.texts)


class FileEmbedding(Job[LineChunk]):
    """All lines of a file, or all texts of a column, through an encoder."""

    reader: TextLines | TextColumn

    def __init__(
        self,
        embedder: Embedder,
        source: Path,
        output: Path,
        *,
        column: str | None = None,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self.embedder = embedder
        self.width = embedder.bert.config.hidden_size
        self.column = column
        self.reader = TextLines(source) if column is None else TextColumn(source, column)
        self.lines = self.reader.count()
        super().__init__(source, output, resume=resume, force=force)

    def metadata(self) -> dict[str, Any]:
        embedder = self.embedder
        return {
            "pooling": str(embedder.pooling),
            "normalize": embedder.normalize,
            "max_length": embedder.max_length,
            "model": model_sha256(embedder.bert, embedder.tokenizer, []),
            "dtype": dtype_name(embedder.bert),
            "device": str(embedder.bert.pooler.weight.device),
        } | ({} if self.column is None else {"column": self.column})

    def header(self) -> bytes:
        file = io.BytesIO()
        array = {"descr": "<f4", "fortran_order": False, "shape": (self.lines, self.width)}
        np.lib.format.write_array_header_1_0(file, array)
        return file.getvalue()

    def chunks(self) -> Iterator[LineChunk]:
        texts: list[str] = []
        characters = 0
        for line in self.reader.texts():
            texts.append(line)
            characters += len(line)
            if chunk_is_full(len(texts), characters):
                yield LineChunk(texts)
                texts, characters = [], 0
        if texts:
            yield LineChunk(texts)

    def work(self, chunk: LineChunk, output: ChunkOutput) -> Iterator[float]:
        vectors = np.empty((chunk.rows, self.width), "<f4")
        yield from self.embedder.fill(chunk.texts, vectors)
        output.content, output.written = vectors.tobytes(), chunk.rows
