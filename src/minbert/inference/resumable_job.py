"""A file -> another file, chunk by chunk, in memory that does not grow with the rows.

Each chunk is read, computed and written to the journal before the next one begins. A call that was interrupted
resumes after its last chunk, and its output has the same bytes as if it had not been interrupted.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import torch
from torch import nn

from minbert import __version__
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.errors import UserError
from minbert.files import sha256
from minbert.inference.journal import Journal

COUNTS = ("written", "rejected", "truncated")
Unit = Literal["bytes", "rows"]


@dataclass(frozen=True)
class Progress:
    """How much is done, in rows and in the unit of the input: bytes of a text file, rows of a parquet file."""

    done: float
    total: int
    unit: Unit
    rows: int
    # of these rows, those of an earlier call
    before: int
    # rows in the journal; truncated ones are written, but were too long to be read to their end
    written: int
    rejected: int
    truncated: int


class Reader(Protocol):
    """The input, and how much of it has been read."""

    unit: Unit
    total: int

    @property
    def done(self) -> int: ...


class HasRows(Protocol):
    @property
    def rows(self) -> int: ...


C = TypeVar("C", bound=HasRows)


@dataclass
class ChunkOutput:
    """What is written for a chunk, and how many rows that is."""

    content: bytes = b""
    rejects: bytes = b""
    written: int = 0
    rejected: int = 0
    truncated: int = 0


class Job(Generic[C]):
    """Iterating over it does the work and yields the progress."""

    reader: Reader

    def __init__(self, source: Path, output: Path, *, resume: bool, force: bool) -> None:
        """`resume`: continue a call that was interrupted. Everything is checked before the first row."""
        check_places(source, output, resume, force)
        self.source, self.output = source, output
        self.stamp = stamp_of(source)
        read = {"input": {"bytes": self.stamp[0], "sha256": sha256(source)}}
        metadata = {**read, **self.metadata(), **machine_metadata()}
        self.journal = Journal(partial_folder(output), metadata, resume=resume, replace=force)
        self.before = self.rows

    def metadata(self) -> dict[str, Any]:
        """What the bytes of the output depend on, besides the input and the machine."""
        raise AssertionError("a job defines metadata")

    def header(self) -> bytes:
        """What the output begins with."""
        raise AssertionError("a job defines header")

    def chunks(self) -> Iterator[C]:
        """The input in chunks, whose borders depend only on the input."""
        raise AssertionError("a job defines chunks")

    def work(self, chunk: C, output: ChunkOutput) -> Iterator[float]:
        """Fill in the output of a chunk; yields the fraction done."""
        raise AssertionError("a job defines work")

    def finish(self, appended: Path, target: Path) -> None:
        """The header and the content of all chunks -> the output."""
        appended.replace(target)

    def __iter__(self) -> Iterator[Progress]:
        try:
            if not (self.journal.replace or self.journal.complete):
                check_output_is_new(self.output)
            if not self.journal.complete:
                yield from self._chunks()
                if stamp_of(self.source) != self.stamp:
                    raise UserError(f"{self.source}: changed while it was read.", "Start again with --force.")
            self.journal.finish(self.finish, self.output, rejects_of(self.output))
        except BaseException:
            # without a single row written, there is nothing to resume
            (self.journal.close if self.journal.totals["written"] else self.journal.remove)()
            raise
        yield self.progress(self.reader.total, self.rows)

    def _chunks(self) -> Iterator[Progress]:
        rows, start = 0, 0
        earlier = self.journal.chunks
        for number, chunk in enumerate(self.chunks()):
            end = self.reader.done
            if number >= earlier:
                output = ChunkOutput()
                for fraction in self.work(chunk, output):
                    yield self.progress(start + fraction * (end - start), rows + fraction * chunk.rows)
                self._append(output)
            rows, start = rows + chunk.rows, end
            yield self.progress(start, rows)
        if not self.journal.chunks:
            self._append(ChunkOutput())

    def _append(self, output: ChunkOutput) -> None:
        counts = {name: getattr(output, name) for name in COUNTS}
        header = b"" if self.journal.chunks else self.header()
        self.journal.append(counts, header + output.content, output.rejects)

    @property
    def rows(self) -> int:
        """How many are in the journal."""
        return self.journal.totals["written"] + self.journal.totals["rejected"]

    def progress(self, done: float, rows: float) -> Progress:
        counts = [self.journal.totals[name] for name in COUNTS]
        return Progress(done, self.reader.total, self.reader.unit, int(rows), self.before, *counts)


# ---- places -------------------------------------------------------------------------------------------


def rejects_of(output: Path) -> Path:
    """The file that lists the rejected rows."""
    return output.with_name(f"{output.name}.rejects.jsonl")


def partial_folder(output: Path) -> Path:
    """The folder of what is done so far."""
    return output.with_name(f"{output.name}.parts")


def check_places(source: Path, output: Path, resume: bool, force: bool) -> None:
    if resume and force:
        raise UserError("--resume continues and --force starts again.", "Give one of them.")
    check_output(source, output)
    if not force and not (resume and partial_folder(output).exists()):
        check_output_is_new(output)


def check_output(source: Path, output: Path) -> None:
    """Refuse what must never be overwritten, whatever the options."""
    if output.is_dir():
        raise UserError(f"{output}: is a folder.", "Name a file as output.")
    if output.exists() and not output.is_file():
        raise UserError(f"{output}: is not a regular file, so it cannot be replaced.", "Name another output.")
    for path in (output, rejects_of(output)):
        if path.exists() and source.exists() and path.samefile(source):
            raise UserError(f"{path}: is the input file.", "Name another output.")


def check_output_is_new(output: Path) -> None:
    for path in (output, rejects_of(output)):
        if path.exists():
            raise UserError(f"{path}: exists already.", "Name another output, or replace it with --force.")


# ---- fingerprints -------------------------------------------------------------------------------------


def stamp_of(path: Path) -> tuple[int, int]:
    """What changes when a file is written to."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def machine_metadata() -> dict[str, Any]:
    """What the last digits of the output may depend on."""
    return {
        "processor": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in ("torch", "tokenizers", "numpy", "pyarrow")}
        | {"minbert": __version__},
    }


def dtype_name(bert: Bert) -> str:
    """What the encoder computes in."""
    return str(bert.dtype).removeprefix("torch.")


def model_sha256(module: nn.Module, tokenizer: Tokenizer, settings: Any) -> str:
    """SHA-256 of everything that predictions depend on: weights, tokenizer, settings."""
    digest = hashlib.sha256(tokenizer.backend.to_str().encode())
    digest.update(json.dumps(settings, default=str, sort_keys=True).encode())
    for name, tensor in module.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
