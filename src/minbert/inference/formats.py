"""Columns -> bytes of a file: csv, tsv, jsonl, parquet, each also gzipped.

A format makes bytes chunk by chunk: a header, then rows after rows, all appended to one file, which is turned into the
wanted one at the end. The same rows in the same chunks make the same bytes.
"""

import csv
import gzip
import io
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.readers import format_of
from minbert.errors import UserError
from minbert.inference.output_columns import OutputColumn, prediction_columns
from minbert.inference.task_predictions import TaskPredictions

# two thirds of the time of the highest, for files hardly larger
GZIP_LEVEL = 6


class OutputFormat:
    """Columns -> bytes that are appended; the file of all of them -> the output."""

    def columns(
        self, text_names: Sequence[str], dataset: Dataset, predictions: Sequence[TaskPredictions]
    ) -> list[OutputColumn]:
        """What is written of some rows and their predictions."""
        return prediction_columns(text_names, dataset, predictions)

    def header(self, columns: Sequence[OutputColumn]) -> bytes:
        return b""

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        raise AssertionError("a format defines rows")

    def finish(self, appended: Path, target: Path) -> None:
        """Make the output; `appended` may be moved."""
        appended.replace(target)


class SeparatedFormat(OutputFormat):
    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def header(self, columns: Sequence[OutputColumn]) -> bytes:
        return self.lines([[column.name for column in columns]])

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        spelled = [["false", "true"] if column.kind == "truth" else None for column in columns]
        values = [
            column.values if words is None else [words[value] for value in column.values]
            for column, words in zip(columns, spelled, strict=True)
        ]
        return self.lines(zip(*values, strict=True))

    def lines(self, rows: Any) -> bytes:
        file = io.StringIO()
        # csv quotes the characters that it ends lines with: with "\r\n", it quotes a lone "\r" too
        ended = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
        csv.writer(ended, delimiter=self.delimiter, lineterminator="\r\n").writerows(rows)
        return file.getvalue().encode("utf-8")


class JsonLinesFormat(OutputFormat):
    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        names = [column.name for column in columns]
        rows = zip(*(column.values for column in columns), strict=True)
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode("utf-8")


class ParquetFormat(OutputFormat):
    """Appended as an Arrow stream, since a parquet file ends with an index of all that is in it."""

    def header(self, columns: Sequence[OutputColumn]) -> bytes:
        return self.schema(columns).serialize().to_pybytes()  # type: ignore[no-any-return]

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        import pyarrow

        batch = pyarrow.record_batch([column.values for column in columns], schema=self.schema(columns))
        return batch.serialize().to_pybytes()  # type: ignore[no-any-return]

    def schema(self, columns: Sequence[OutputColumn]) -> Any:
        import pyarrow

        types = {"text": pyarrow.string(), "number": pyarrow.float64(), "truth": pyarrow.bool_()}
        return pyarrow.schema([(column.name, types[column.kind]) for column in columns])

    def finish(self, appended: Path, target: Path) -> None:
        import pyarrow.parquet

        with appended.open("rb") as file, pyarrow.ipc.open_stream(file) as stream:
            writer = pyarrow.parquet.ParquetWriter(target, stream.schema)
            for batch in stream:
                writer.write_batch(batch)
            writer.close()


class GzippedFormat(OutputFormat):
    """Another format, compressed chunk by chunk."""

    def __init__(self, inner: OutputFormat) -> None:
        self.inner = inner

    def header(self, columns: Sequence[OutputColumn]) -> bytes:
        return gzipped(self.inner.header(columns))

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        return gzipped(self.inner.rows(columns))


class GzippedParquetFormat(ParquetFormat):
    def finish(self, appended: Path, target: Path) -> None:
        plain = appended.with_name(f"{appended.name}.parquet")
        super().finish(appended, plain)
        with (
            plain.open("rb") as source,
            target.open("wb") as file,
            gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as sink,
        ):
            shutil.copyfileobj(source, sink)
        plain.unlink()


OUTPUT_FORMATS: dict[str, OutputFormat] = {
    "csv": SeparatedFormat(","),
    "tsv": SeparatedFormat("\t"),
    "jsonl": JsonLinesFormat(),
    "parquet": ParquetFormat(),
}


def gzipped(data: bytes) -> bytes:
    # without the time of day: the same rows make the same bytes
    return gzip.compress(data, GZIP_LEVEL, mtime=0)


def output_format_of(path: Path) -> OutputFormat:
    """The format that the ending of a file's name says."""
    try:
        kind, is_gzipped = format_of(path)
    except UserError:
        kind, is_gzipped = "", False
    if kind not in OUTPUT_FORMATS:
        known = f"Use a name that ends in .{', .'.join(OUTPUT_FORMATS)}, or one of these with .gz."
        raise UserError(f"{path}: predictions are not written as '{path.suffix or path.name}'.", known)
    if kind == "parquet" and is_gzipped:
        return GzippedParquetFormat()
    return GzippedFormat(OUTPUT_FORMATS[kind]) if is_gzipped else OUTPUT_FORMATS[kind]


def write_predictions(path: Path, task: Task, dataset: Dataset, values: npt.NDArray[Any]) -> None:
    """One row per example: id, texts, the label if it is known, the prediction, the probabilities."""
    output_format = output_format_of(path)
    columns = output_format.columns(task.text, dataset, [TaskPredictions(task, values)])
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(output_format.header(columns) + output_format.rows(columns))
    output_format.finish(aside, path)
    aside.unlink(missing_ok=True)
