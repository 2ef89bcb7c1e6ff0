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
class Given:
    """The answers of a task to some examples."""

    task: Task
    # probabilities N x C, or scores N
    answers: npt.NDArray[Any]
    # whether an example was too long to be read to its end, N; nothing: nobody looked
    cut: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Column:
    name: str
    kind: Literal["text", "number", "truth"]
    values: Sequence[Any]


# ---- what is written ----------------------------------------------------------------------------------


def answer_columns(names: Sequence[str], examples: Dataset, given: Sequence[Given]) -> list[Column]:
    """The id, the user's columns by their own names, and ours beside them, with a _ where a name is taken.

    `names` are those of the text columns. With several tasks, each task's columns begin with its name.
    """
    users = [Column(name, "text", texts) for name, texts in zip(names, examples.texts, strict=True)]
    if examples.labels is not None:
        users += [label_column(each.task, examples.labels) for each in given]
    taken = {column.name for column in users}

    def free(name: str) -> str:
        return free(f"{name}_") if name in taken else name

    ours = [
        Column(free(f"{each.task.name}.{column.name}" if len(given) > 1 else column.name), column.kind, column.values)
        for each in given
        for column in own_columns(each)
    ]
    return [Column(free("id"), "text", examples.ids), *users, *ours]


def label_column(task: Task, labels: npt.NDArray[Any]) -> Column:
    if task.kind == "score":
        return Column(task.label, "number", labels.tolist())
    return Column(task.label, "text", [task.label_keys[label] for label in labels])


def own_columns(given: Given) -> Iterator[Column]:
    """prediction, probability, p_LABEL for each label, truncated."""
    task, answers = given.task, given.answers.astype(np.float64)
    if task.kind == "score":
        yield Column("prediction", "number", np.round(answers, 6).tolist())
    else:
        keys = task.label_keys
        rounded = np.round(answers, 6)
        yield Column("prediction", "text", [keys[i] for i in answers.argmax(1)])
        yield Column("probability", "number", rounded.max(1).tolist())
        for i, key in enumerate(keys):
            yield Column(f"p_{key}", "number", rounded[:, i].tolist())
    if given.cut is not None:
        yield Column("truncated", "truth", given.cut.tolist())


def course_columns(examples: Dataset, given: Given) -> list[Column]:
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
    return [Column("id", "text", examples.ids), Column(header, "text", values)]


# ---- how it is written --------------------------------------------------------------------------------


class Form:
    """Rows -> bytes that are appended; the file of all of them -> the wanted file."""

    def opening(self, columns: Sequence[Column]) -> bytes:
        return b""

    def rows(self, columns: Sequence[Column]) -> bytes:
        raise AssertionError("a form defines rows")

    def finish(self, appended: Path, target: Path) -> None:
        """Make the wanted file; `appended` may be gone then."""
        appended.replace(target)


class Separated(Form):
    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def opening(self, columns: Sequence[Column]) -> bytes:
        return self.lines([[column.name for column in columns]])

    def rows(self, columns: Sequence[Column]) -> bytes:
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


class JsonLines(Form):
    def rows(self, columns: Sequence[Column]) -> bytes:
        names = [column.name for column in columns]
        rows = zip(*(column.values for column in columns), strict=True)
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode("utf-8")


class Course(Form):
    """`id , prediction `."""

    def opening(self, columns: Sequence[Column]) -> bytes:
        return f"id \t {columns[1].name} \n".encode()

    def rows(self, columns: Sequence[Column]) -> bytes:
        ids, answers = (column.values for column in columns)
        return "".join(f"{name} , {answer} \n" for name, answer in zip(ids, answers, strict=True)).encode("utf-8")


class Parquet(Form):
    """Appended as a stream of Arrow's, since a parquet file ends with a list of all that is in it."""

    def opening(self, columns: Sequence[Column]) -> bytes:
        return self.schema(columns).serialize().to_pybytes()  # type: ignore[no-any-return]

    def rows(self, columns: Sequence[Column]) -> bytes:
        import pyarrow

        batch = pyarrow.record_batch([column.values for column in columns], schema=self.schema(columns))
        return batch.serialize().to_pybytes()  # type: ignore[no-any-return]

    def schema(self, columns: Sequence[Column]) -> Any:
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


class Gzipped(Form):
    """Another form, compressed chunk by chunk."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def opening(self, columns: Sequence[Column]) -> bytes:
        return zipped(self.form.opening(columns))

    def rows(self, columns: Sequence[Column]) -> bytes:
        return zipped(self.form.rows(columns))


class GzippedParquet(Parquet):
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


FORMS: dict[str, Form] = {
    "csv": Separated(","),
    "tsv": Separated("\t"),
    "jsonl": JsonLines(),
    "parquet": Parquet(),
    "course": Course(),
}


def zipped(data: bytes) -> bytes:
    # without the time of day in it: the same answers are the same bytes
    return gzip.compress(data, GZIP_LEVEL, mtime=0)


def form_of(path: Path) -> Form:
    """The form that the ending of a file's name asks for."""
    kind, is_gzipped = format_of(path)
    if kind == "parquet" and is_gzipped:
        return GzippedParquet()
    return Gzipped(FORMS[kind]) if is_gzipped else FORMS[kind]


def write_whole(path: Path, form: Form, columns: Sequence[Column]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_bytes(form.opening(columns) + form.rows(columns))
    form.finish(aside, path)
    aside.unlink(missing_ok=True)


def write_answers(path: Path, task: Task, examples: Dataset, answers: npt.NDArray[Any]) -> None:
    """One row an example: id, texts, the label if it is known, the prediction, the probabilities."""
    write_whole(path, form_of(path), answer_columns(task.text, examples, [Given(task, answers)]))


def write_course(path: Path, task: Task, examples: Dataset, answers: npt.NDArray[Any]) -> None:
    """The format in which the course's graders read predictions."""
    write_whole(path, FORMS["course"], course_columns(examples, Given(task, answers)))
