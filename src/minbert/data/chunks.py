"""A file of rows -> chunks of texts and rejected rows, in order; where chunks end depends only on the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minbert.config.task import Task
from minbert.data.dataset import Dataset, row_of
from minbert.data.readers import ColumnReader
from minbert.data.rejects import RejectedRow
from minbert.errors import UserError

# A chunk ends with the row that reaches one of these limits: enough rows for batches of similar length, few enough
# characters for the tokenizer, which needs 30 times their memory.
CHUNK_ROWS = 8_192
CHUNK_CHARACTERS = 2**21


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a file: those that can be read, and the rejected ones."""

    # each text column once, even if several tasks read it
    dataset: Dataset
    rejects: list[RejectedRow]

    @property
    def rows(self) -> int:
        return len(self.dataset) + len(self.rejects)


def chunk_is_full(rows: int, characters: int) -> bool:
    return rows >= CHUNK_ROWS or characters >= CHUNK_CHARACTERS


def empty_chunk(reader: ColumnReader) -> Chunk:
    return Chunk(Dataset(tuple([] for _ in reader.columns), None, [], [], reader.path), [])


def read_chunks(reader: ColumnReader) -> Iterator[Chunk]:
    """All rows of the file, in order."""
    chunk, characters = empty_chunk(reader), 0
    for line, values in reader:
        try:
            texts, identity = row_of(line, values, reader.columns, reader.id_column)
        except ValueError as reason:
            chunk.rejects.append(RejectedRow(reader.path, line, str(reason)))
        else:
            for column, text in zip(chunk.dataset.texts, texts, strict=True):
                column.append(text)
                characters += len(text)
            chunk.dataset.ids.append(identity)
            chunk.dataset.lines.append(line)
        if chunk_is_full(chunk.rows, characters):
            yield chunk
            chunk, characters = empty_chunk(reader), 0
    if chunk.rows:
        yield chunk


def reader_for(tasks: Sequence[Task], path: Path, text: Sequence[str] = ()) -> ColumnReader:
    """A reader of the text columns of all tasks, or of `text`; a row must have as many fields as the header."""
    for name in ("id", "delimiter"):
        if len({getattr(task, name) for task in tasks}) > 1:
            each = ", ".join(f"'{getattr(task, name)}' in {task.name}" for task in tasks)
            raise UserError(
                f"These tasks read files in different ways: '{name}' is {each}.", "Predict them one by one."
            )
    columns = dict.fromkeys(text or (name for task in tasks for name in task.text))
    return ColumnReader(path, list(columns), tasks[0].id, tasks[0].delimiter, exact=True)
