"""A file of rows -> a file of predictions, of any length, by one or more tasks of a model.

Each chunk of the file is predicted like a list of texts. The rows of a file with several chunks are in other batches
than those of one long list, so that the last bits of their predictions may differ.
"""

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
from minbert.inference.course_format import CourseFormat
from minbert.inference.ensemble import EnsemblePredictions, Member, member_tasks
from minbert.inference.formats import OutputFormat, output_format_of
from minbert.inference.output_columns import OutputColumn
from minbert.inference.resumable_job import ChunkOutput, Job, dtype_name, model_sha256
from minbert.inference.task_predictions import TaskPredictions, empty_predictions
from minbert.plural import plural

# auto: as the ending of the output's name says
FormatChoice = Literal["auto", "course"]


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
        text: Sequence[str] = (),
        output_format: FormatChoice = "auto",
        resume: bool = False,
        force: bool = False,
    ) -> None:
        """`text`: the file's names of the text columns, if they are not those of the tasks."""
        self.members = [member for member in members if set(tasks) & set(member.tasks)]
        self.tasks = {name: member_tasks(self.members)[name] for name in tasks}
        self.format: OutputFormat = CourseFormat() if output_format == "course" else output_format_of(output)
        self.format_name = "course" if output_format == "course" else format_name(*format_of(output))
        self.text = tuple(text)
        self.check_text()
        self.reader = reader_for(list(self.tasks.values()), source, self.text)
        self.header()  # refuses what the format cannot hold
        super().__init__(source, output, resume=resume, force=force)

    def check_text(self) -> None:
        for task in self.tasks.values() if self.text else ():
            if len(task.text) != len(self.text):
                raise UserError(
                    f"Task '{task.name}' reads {plural(len(task.text), 'text')}, and --text names "
                    f"{plural(len(self.text), 'column')}.",
                    "Name as many columns as the task reads.",
                )
        if len(dict(self.renamed())) < len(set(self.renamed())):
            raise UserError("These tasks read the columns in different orders.", "Predict them one by one.")

    def renamed(self) -> list[tuple[str, str]]:
        """(the name that a task has for a column, the file's name)"""
        tasks = self.tasks.values()
        return [pair for task in tasks for pair in zip(task.text, self.text or task.text, strict=True)]

    def metadata(self) -> dict[str, Any]:
        first = self.members[0].model
        return {
            "tasks": ", ".join(self.tasks),
            "input_format": format_name(self.reader.kind, self.reader.gzipped),
            "output_format": self.format_name,
            "model": " ".join(model_sha256(each.model, each.tokenizer, member_settings(each)) for each in self.members),
            **({"text": ", ".join(self.text)} if self.text else {}),
            "dtype": dtype_name(first.bert),
            "device": str(first.device),
        }

    def header(self) -> bytes:
        nothing = [TaskPredictions(task, empty_predictions(task, 0), np.zeros(0, bool)) for task in self.tasks.values()]
        return self.format.header(self.columns(empty_chunk(self.reader), nothing))

    def columns(self, chunk: Chunk, predictions: Sequence[TaskPredictions]) -> list[OutputColumn]:
        return self.format.columns(self.reader.columns, chunk.dataset, predictions)

    def chunks(self) -> Iterator[Chunk]:
        return read_chunks(self.reader)

    def work(self, chunk: Chunk, output: ChunkOutput) -> Iterator[float]:
        output.written, output.rejected = len(chunk.dataset), len(chunk.rejects)
        output.rejects = reject_lines(chunk.rejects)
        if not output.written:
            return
        texts = dict(zip(self.reader.columns, chunk.dataset.texts, strict=True))
        columns = {own: texts[name] for own, name in self.renamed()}
        ensemble = EnsemblePredictions(self.members, list(self.tasks), columns)
        yield from ensemble
        predictions = list(ensemble.predictions.values())
        output.content = self.format.rows(self.columns(chunk, predictions))
        truncated = [each.truncated for each in predictions if each.truncated is not None]
        output.truncated = int(np.logical_or.reduce(truncated).sum())

    def finish(self, appended: Path, target: Path) -> None:
        self.format.finish(appended, target)


def format_name(kind: str, is_gzipped: bool) -> str:
    return kind + ".gz" * is_gzipped


def member_settings(member: Member) -> list[object]:
    parts = member.model.tasks.items()
    return [list(member.tasks), *([name, part.task.as_settings(), asdict(part.plan)] for name, part in parts)]


def reject_lines(rejects: Sequence[RejectedRow]) -> bytes:
    lines = (json.dumps({"line": row.line, "reason": row.reason}, ensure_ascii=False) for row in rejects)
    # JSON spells half a surrogate pair with a backslash
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
