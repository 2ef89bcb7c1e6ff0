"""A file of rows -> a file of answers, of any length, by one or more tasks of a model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from minbert.answers import FORMS, Column, Given, answer_columns, course_columns, form_of
from minbert.chunks import Chunk, empty_chunk, read_chunks, reader_of
from minbert.columns import Columns, format_of
from minbert.errors import UserError
from minbert.evaluate import no_answers
from minbert.job import Job, Made, fingerprint
from minbert.model import Model
from minbert.several import Answered
from minbert.table import Reject
from minbert.text import Text

Format = Literal["auto", "course"]


class Bulk(Job[Chunk]):
    """All rows of a file through a model."""

    reader: Columns

    def __init__(
        self,
        model: Model,
        text: Text,
        tasks: Sequence[str],
        source: Path,
        output: Path,
        *,
        form: Format = "auto",
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self.model, self.text = model, text
        self.tasks = {name: model.task(name).task for name in tasks}
        self.kind, self.gzipped = ("course", False) if form == "course" else format_of(output)
        self.form = FORMS["course"] if form == "course" else form_of(output)
        self.reader = reader_of(list(self.tasks.values()), source)
        self.opening()  # refuses what the format cannot hold
        super().__init__(source, output, resume=resume, force=force)

    def about(self) -> dict[str, Any]:
        settings = [[name, part.task.as_settings(), asdict(part.plan)] for name, part in self.model.tasks.items()]
        return {
            "tasks": ", ".join(self.tasks),
            "read as": self.reader.kind + ".gz" * self.reader.gzipped,
            "written as": self.kind + ".gz" * self.gzipped,
            "model": fingerprint(self.model, self.text, settings),
            "computes in": str(self.model.bert.dtype).removeprefix("torch."),
            "device": str(self.model.device),
        }

    def opening(self) -> bytes:
        nothing = [Given(task, no_answers(task, 0), np.zeros(0, bool)) for task in self.tasks.values()]
        return self.form.opening(self.columns(empty_chunk(self.reader), nothing))

    def columns(self, chunk: Chunk, given: Sequence[Given]) -> list[Column]:
        if self.kind != "course":
            return answer_columns(self.reader.columns, chunk.examples, given)
        if len(given) > 1:
            raise UserError("The course's format holds the answers of one task.", "Name one task.")
        return course_columns(chunk.examples, given[0])

    def chunks(self) -> Iterator[Chunk]:
        return read_chunks(self.reader)

    def work(self, chunk: Chunk, made: Made) -> Iterator[float]:
        made.answered, made.rejected = len(chunk.examples), len(chunk.rejects)
        made.rejects = lines_of(chunk.rejects)
        if not made.answered:
            return
        texts = dict(zip(self.reader.columns, chunk.examples.texts, strict=True))
        answered = Answered(self.model, self.text, list(self.tasks), texts)
        yield from answered
        given = [answered.given[name] for name in self.tasks]
        made.answers = self.form.rows(self.columns(chunk, given))
        made.truncated = int(np.any([each.cut for each in given if each.cut is not None], axis=0).sum())

    def finish(self, appended: Path, target: Path) -> None:
        self.form.finish(appended, target)


def lines_of(rejects: Sequence[Reject]) -> bytes:
    lines = (json.dumps({"line": row.line, "reason": row.reason}, ensure_ascii=False) for row in rejects)
    # half a surrogate pair, spelled with a backslash, is what JSON spells it as
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
