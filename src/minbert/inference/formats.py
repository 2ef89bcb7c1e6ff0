"""Answers -> files people and programs read: csv, tsv, jsonl, parquet, and the course's own format.

A form makes bytes of rows chunk by chunk: an opening, then chunk after chunk, all appended to one file, which is
turned into the wanted one at the end. The same rows in the same chunks make the same bytes.
"""

import csv
import gzip
import io
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.readers import format_of
from minbert.errors import UserError

# (kind, text columns, label) of the course's tasks -> the header of its prediction files, spelling included
COURSE_HEADERS = {
    ("classify", ("sentence",), "sentiment"): "Predicted_Sentiment",
    ("classify", ("sentence1", "sentence2"), "is_duplicate"): "Predicted_Is_Paraphrase",
    ("score", ("sentence1", "sentence2"), "similarity"): "Predicted_Similiary",
}
# two thirds of the time of the highest, for files hardly larger
GZIP_LEVEL = 6


@dataclass(frozen=True)
class TaskPredictions:
    """The answers of a task to some examples."""

    task: Task
    # probabilities N x C, or scores N
    answers: npt.NDArray[Any]
    # whether an example was too long to be read to its end, N; nothing: nobody looked
    cut: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class OutputColumn:
    name: str
    kind: Literal["text", "number", "truth"]
    values: Sequence[Any]


# ---- what is written ----------------------------------------------------------------------------------


def prediction_columns(names: Sequence[str], examples: Dataset, given: Sequence[TaskPredictions]) -> list[OutputColumn]:
    """The id, the user's columns by their own names, and ours beside them, with a _ where a name is taken.

    `names` are those of the text columns. With several tasks, each task's columns begin with its name.
    """
    users = [OutputColumn(name, "text", texts) for name, texts in zip(names, examples.texts, strict=True)]
    if examples.labels is not None:
        users += [label_column(each.task, examples.labels) for each in given]
    taken = {column.name for column in users}

    def free(name: str) -> str:
        return free(f"{name}_") if name in taken else name

    ours = [
        OutputColumn(
            free(f"{each.task.name}.{column.name}" if len(given) > 1 else column.name), column.kind, column.values
        )
        for each in given
        for column in own_columns(each)
    ]
    return [OutputColumn(free("id"), "text", examples.ids), *users, *ours]


def label_column(task: Task, labels: npt.NDArray[Any]) -> OutputColumn:
    if task.kind == "score":
        return OutputColumn(task.label, "number", labels.tolist())
    return OutputColumn(task.label, "text", [task.label_keys[label] for label in labels])


def own_columns(given: TaskPredictions) -> Iterator[OutputColumn]:
    """prediction, probability, p_LABEL for each label, truncated."""
    task, answers = given.task, given.answers.astype(np.float64)
    if task.kind == "score":
        yield OutputColumn("prediction", "number", np.round(answers, 6).tolist())
    else:
        keys = task.label_keys
        rounded = np.round(answers, 6)
        yield OutputColumn("prediction", "text", [keys[i] for i in answers.argmax(1)])
        yield OutputColumn("probability", "number", rounded.max(1).tolist())
        for i, key in enumerate(keys):
            yield OutputColumn(f"p_{key}", "number", rounded[:, i].tolist())
    if given.cut is not None:
        yield OutputColumn("truncated", "truth", given.cut.tolist())


def course_columns(examples: Dataset, given: TaskPredictions) -> list[OutputColumn]:
    """What the course's graders read: the id, and the answer under a name of theirs."""
    task, answers = given.task, given.answers
    header = COURSE_HEADERS.get((task.kind, task.text, task.label))
    if header is None or task.label_keys != tuple(str(i) for i in range(len(task.labels))):
        raise UserError(
            f"The course's format is for its own tasks; task '{task.name}' is none of them.",
            "Leave --format out: the ending of --output names the format.",
        )
    if task.kind == "classify":
        values = [task.label_keys[i] for i in answers.argmax(1)]
        if task.paired:  # a rounded sigmoid there, hence a float
            values = [f"{label}.0" for label in values]
    else:
        values = [str(score) for score in answers]
    return [OutputColumn("id", "text", examples.ids), OutputColumn(header, "text", values)]


# ---- how it is written --------------------------------------------------------------------------------


class OutputFormat:
    """Rows -> bytes that are appended; the file of all of them -> the wanted file."""

    def opening(self, columns: Sequence[OutputColumn]) -> bytes:
        return b""

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        raise AssertionError("a form defines rows")

    def finish(self, appended: Path, target: Path) -> None:
        """Make the wanted file; `appended` may be gone then."""
        appended.replace(target)


class SeparatedFormat(OutputFormat):
    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def opening(self, columns: Sequence[OutputColumn]) -> bytes:
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
        # csv quotes the characters that it ends lines with: told "\r\n", it quotes a lone "\r" too
        ended = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
        csv.writer(ended, delimiter=self.delimiter, lineterminator="\r\n").writerows(rows)
        return file.getvalue().encode("utf-8")


class JsonLinesFormat(OutputFormat):
    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        names = [column.name for column in columns]
        rows = zip(*(column.values for column in columns), strict=True)
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode("utf-8")


class CourseFormat(OutputFormat):
    """`id , prediction `."""

    def opening(self, columns: Sequence[OutputColumn]) -> bytes:
        return f"id \t {columns[1].name} \n".encode()

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        ids, answers = (column.values for column in columns)
        return "".join(f"{name} , {answer} \n" for name, answer in zip(ids, answers, strict=True)).encode("utf-8")


class ParquetFormat(OutputFormat):
    """Appended as a stream of Arrow's, since a parquet file ends with a list of all that is in it."""

    def opening(self, columns: Sequence[OutputColumn]) -> bytes:
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
    """Another form, compressed chunk by chunk."""

    def __init__(self, form: OutputFormat) -> None:
        self.form = form

    def opening(self, columns: Sequence[OutputColumn]) -> bytes:
        return zipped(self.form.opening(columns))

    def rows(self, columns: Sequence[OutputColumn]) -> bytes:
        return zipped(self.form.rows(columns))


class GzippedParquetFormat(ParquetFormat):
    def finish(self, appended: Path, target: Path) -> None:
        bare = appended.with_name(f"{appended.name}.parquet")
        super().finish(appended, bare)
        with (
            bare.open("rb") as source,
            target.open("wb") as file,
            gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as sink,
        ):
            shutil.copyfileobj(source, sink)
        bare.unlink()


OUTPUT_FORMATS: dict[str, OutputFormat] = {
    "csv": SeparatedFormat(","),
    "tsv": SeparatedFormat("\t"),
    "jsonl": JsonLinesFormat(),
    "parquet": ParquetFormat(),
    "course": CourseFormat(),
}


def zipped(data: bytes) -> bytes:
    # without the time of day in it: the same answers are the same bytes
    return gzip.compress(data, GZIP_LEVEL, mtime=0)


def output_format_of(path: Path) -> OutputFormat:
    """The form that the ending of a file's name asks for."""
    kind, is_gzipped = format_of(path)
    if kind == "parquet" and is_gzipped:
        return GzippedParquetFormat()
    return GzippedFormat(OUTPUT_FORMATS[kind]) if is_gzipped else OUTPUT_FORMATS[kind]


def write_whole(path: Path, form: OutputFormat, columns: Sequence[OutputColumn]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(form.opening(columns) + form.rows(columns))
    form.finish(aside, path)
    aside.unlink(missing_ok=True)


def write_predictions(path: Path, task: Task, examples: Dataset, answers: npt.NDArray[Any]) -> None:
    """One row an example: id, texts, the label if it is known, the prediction, the probabilities."""
    write_whole(path, output_format_of(path), prediction_columns(task.text, examples, [TaskPredictions(task, answers)]))


def write_course(path: Path, task: Task, examples: Dataset, answers: npt.NDArray[Any]) -> None:
    """The format in which the course's graders read predictions."""
    write_whole(path, OUTPUT_FORMATS["course"], course_columns(examples, TaskPredictions(task, answers)))
