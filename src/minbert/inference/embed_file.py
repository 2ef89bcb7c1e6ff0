"""A text file -> one vector a line, in a NumPy file of any length."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minbert.config.schema import Spec
from minbert.data.chunks import chunk_is_full
from minbert.data.readers import is_unicode
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.errors import UserError
from minbert.inference.job import Job, Made, Unit, model_sha256
from minbert.inference.predictor import fill_vectors


class TextLines:
    """The lines of a text file, and how far their reading is."""

    unit: Unit = "bytes"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done = 0
        try:
            self.total = path.stat().st_size
        except FileNotFoundError:
            raise UserError(f"{path}: no such file.") from None

    def __iter__(self) -> Iterator[str]:
        with self.path.open("rb") as raw, io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if not is_unicode(line):
                    raise UserError(f"{self.path}:{number}: not UTF-8 text.", "Save the file with the encoding UTF-8.")
                self.done = raw.tell()
                yield line.removesuffix("\n")

    def count(self) -> int:
        """How many lines there are, all of them read."""
        count, longest = 0, 0
        for line in self:
            count, longest = count + 1, max(longest, len(line))
        if count < 2 and not longest:
            raise UserError(f"{self.path}: the file is empty.", "It needs one text a line.")
        return count


@dataclass(frozen=True)
class LineChunk:
    texts: list[str]

    @property
    def rows(self) -> int:
        return len(self.texts)


class FileEmbedding(Job[LineChunk]):
    """All lines of a file through an encoder."""

    reader: TextLines

    def __init__(
        self,
        bert: Bert,
        text: Tokenizer,
        source: Path,
        output: Path,
        pooling: Spec = "mean",
        *,
        normalize: bool = False,
        max_length: int = 128,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self.bert, self.text = bert, text
        self.pooling, self.normalize, self.max_length = pooling, normalize, max_length
        list(self.fill([]))  # refuses what is no pooling
        self.reader = TextLines(source)
        self.lines = self.reader.count()
        super().__init__(source, output, resume=resume, force=force)

    def about(self) -> dict[str, Any]:
        return {
            "pooling": str(self.pooling),
            "normalize": self.normalize,
            "max_length": self.max_length,
            "model": model_sha256(self.bert, self.text, []),
            "computes in": str(self.bert.dtype).removeprefix("torch."),
            "device": str(self.bert.pooler.weight.device),
        }

    def opening(self) -> bytes:
        file = io.BytesIO()
        shape = (self.lines, self.bert.config.hidden_size)
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        return file.getvalue()

    def chunks(self) -> Iterator[LineChunk]:
        texts: list[str] = []
        characters = 0
        for line in self.reader:
            texts.append(line)
            characters += len(line)
            if chunk_is_full(len(texts), characters):
                yield LineChunk(texts)
                texts, characters = [], 0
        if texts:
            yield LineChunk(texts)

    def work(self, chunk: LineChunk, made: Made) -> Iterator[float]:
        vectors = np.empty((chunk.rows, self.bert.config.hidden_size), "<f4")
        done = 0
        for count in self.fill(chunk.texts, vectors):
            done += count
            yield done / chunk.rows
        made.answers, made.answered = vectors.tobytes(), chunk.rows

    def fill(self, texts: list[str], vectors: Any = None) -> Iterator[int]:
        return fill_vectors(
            self.bert,
            self.text,
            texts,
            vectors,
            self.pooling,
            normalize=self.normalize,
            max_length=self.max_length,
        )
