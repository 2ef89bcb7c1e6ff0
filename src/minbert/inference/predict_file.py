"""A file of rows -> a file of answers, of any length, by one or more tasks of a model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minbert.data.chunks import Chunk, empty_chunk, read_chunks, reader_for
from minbert.data.readers import ColumnReader, format_of
from minbert.data.rejects import RejectedRow
from minbert.errors import UserError
from minbert.inference.ensemble import Member, member_tasks
from minbert.inference.formats import (
    OUTPUT_FORMATS,
    OutputColumn,
    TaskPredictions,
    course_columns,
    output_format_of,
    prediction_columns,
)
from minbert.inference.job import Job, Made, model_sha256
from minbert.inference.loop import empty_predictions
from minbert.inference.multi_task import Answered

Format = Literal["auto", "course"]


class FilePrediction(Job[Chunk]):
    """All rows of a file through a model."""

    reader: ColumnReader

    def __init__(
        self,
        members: Sequence[Member],
        tasks: Sequence[str],
        source: Path,
        output: Path,
        *,
        form: Format = "auto",
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self.members = [member for member in members if set(tasks) & set(member.tasks)]
        self.tasks = {name: member_tasks(self.members)[name] for name in tasks}
        self.kind, self.gzipped = ("course", False) if form == "course" else format_of(output)
        self.form = OUTPUT_FORMATS["course"] if form == "course" else output_format_of(output)
        self.reader = reader_for(list(self.tasks.values()), source)
        self.opening()  # refuses what the format cannot hold
        super().__init__(source, output, resume=resume, force=force)

    def about(self) -> dict[str, Any]:
        first = self.members[0].model
        return {
            "tasks": ", ".join(self.tasks),
            "read as": self.reader.kind + ".gz" * self.reader.gzipped,
            "written as": self.kind + ".gz" * self.gzipped,
            "model": " ".join(model_sha256(each.model, each.text, member_settings(each)) for each in self.members),
            "computes in": str(first.bert.dtype).removeprefix("torch."),
            "device": str(first.device),
        }

    def opening(self) -> bytes:
        nothing = [TaskPredictions(task, empty_predictions(task, 0), np.zeros(0, bool)) for task in self.tasks.values()]
        return self.form.opening(self.columns(empty_chunk(self.reader), nothing))

    def columns(self, chunk: Chunk, given: Sequence[TaskPredictions]) -> list[OutputColumn]:
        if self.kind != "course":
            return prediction_columns(self.reader.columns, chunk.examples, given)
        if len(given) > 1:
            raise UserError("The course's format holds the answers of one task.", "Name one task.")
        return course_columns(chunk.examples, given[0])

    def chunks(self) -> Iterator[Chunk]:
        return read_chunks(self.reader)

    def work(self, chunk: Chunk, made: Made) -> Iterator[float]:
        made.answered, made.rejected = len(chunk.examples), len(chunk.rejects)
        made.rejects = reject_lines(chunk.rejects)
        if not made.answered:
            return
        texts = dict(zip(self.reader.columns, chunk.examples.texts, strict=True))
        several: dict[str, list[TaskPredictions]] = {name: [] for name in self.tasks}
        for number, member in enumerate(self.members):
            names = [name for name in self.tasks if name in member.tasks]
            for done in (answered := Answered(member.model, member.text, names, texts)):
                yield (number + done) / len(self.members)
            for name in names:
                several[name].append(answered.given[name])
        given = [mean_predictions(each) for each in several.values()]
        made.answers = self.form.rows(self.columns(chunk, given))
        made.truncated = int(np.any([each.cut for each in given if each.cut is not None], axis=0).sum())

    def finish(self, appended: Path, target: Path) -> None:
        self.form.finish(appended, target)


def mean_predictions(given: Sequence[TaskPredictions]) -> TaskPredictions:
    """One answer of several models' answers; a text was cut if one of them cut it."""
    if len(given) == 1:
        return given[0]
    total = sum((each.answers for each in given[1:]), start=given[0].answers)
    cut = [each.cut for each in given if each.cut is not None]
    return TaskPredictions(given[0].task, total / len(given), np.logical_or.reduce(cut))


def member_settings(member: Member) -> list[object]:
    parts = member.model.tasks.items()
    return [list(member.tasks), *([name, part.task.as_settings(), asdict(part.plan)] for name, part in parts)]


def reject_lines(rejects: Sequence[RejectedRow]) -> bytes:
    lines = (json.dumps({"line": row.line, "reason": row.reason}, ensure_ascii=False) for row in rejects)
    # half a surrogate pair, spelled with a backslash, is what JSON spells it as
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
