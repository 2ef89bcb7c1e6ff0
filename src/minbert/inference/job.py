"""A file -> another file, chunk by chunk: in memory that does not grow with the rows, and whatever ends it.

Each chunk is read, worked on, and in the journal before the next one begins: a call that was interrupted goes on
behind its last chunk, to the same bytes.
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
from minbert.errors import UserError
from minbert.files import sha256
from minbert.inference.journal import Journal

COUNTS = ("answered", "rejected", "truncated")
Unit = Literal["bytes", "rows"]


@dataclass(frozen=True)
class Progress:
    """How far it is, in rows and in the unit of the input: bytes of a text file, rows of a parquet file."""

    done: float
    total: int
    unit: Unit
    rows: int
    # of these rows, those of an earlier call
    before: int
    # rows in the journal; truncated ones are answered, but were too long to be read to their ends
    answered: int
    rejected: int
    truncated: int


class Reader(Protocol):
    """What tells how far the reading is."""

    unit: Unit
    total: int

    @property
    def done(self) -> int: ...


class HasRows(Protocol):
    @property
    def rows(self) -> int: ...


C = TypeVar("C", bound=HasRows)


@dataclass
class Made:
    """What became of a chunk."""

    answers: bytes = b""
    rejects: bytes = b""
    answered: int = 0
    rejected: int = 0
    truncated: int = 0


class Job(Generic[C]):
    """Iterating over it does the work, and tells how far it is."""

    reader: Reader

    def __init__(self, source: Path, output: Path, *, resume: bool, force: bool) -> None:
        """`resume`: go on with a call that was interrupted. Before the first row, everything is checked."""
        check_places(source, output, resume, force)
        self.source, self.output = source, output
        self.stamp = stamp_of(source)
        about = {"input": {"bytes": self.stamp[0], "sha256": sha256(source)}, **self.about(), **about_machine()}
        self.journal = Journal(partial_folder(output), about, resume=resume, replace=force)
        self.before = self.rows

    def about(self) -> dict[str, Any]:
        """What the bytes of the output depend on, besides the input and the machine."""
        raise AssertionError("a job defines about")

    def opening(self) -> bytes:
        """What the output begins with."""
        raise AssertionError("a job defines opening")

    def chunks(self) -> Iterator[C]:
        """The input in chunks, whose borders depend on it alone."""
        raise AssertionError("a job defines chunks")

    def work(self, chunk: C, made: Made) -> Iterator[float]:
        """Fill in what becomes of a chunk; tells how much is done, from 0 to 1."""
        raise AssertionError("a job defines work")

    def finish(self, appended: Path, target: Path) -> None:
        """All answers, one chunk behind the other -> the output."""
        appended.replace(target)

    def __iter__(self) -> Iterator[Progress]:
        try:
            if not (self.journal.replace or self.journal.complete):
                check_output_is_new(self.output)
            if not self.journal.complete:
                yield from self._chunks()
                if stamp_of(self.source) != self.stamp:
                    raise UserError(f"{self.source}: changed while it was read.", "Begin anew with --force.")
            self.journal.finish(self.finish, self.output, rejects_of(self.output))
        except BaseException:
            # without a single answer there is nothing to go on with
            (self.journal.close if self.journal.totals["answered"] else self.journal.remove)()
            raise
        yield self.progress(self.reader.total, self.rows)

    def _chunks(self) -> Iterator[Progress]:
        rows, behind = 0, 0
        earlier = self.journal.chunks
        for number, chunk in enumerate(self.chunks()):
            ahead = self.reader.done
            if number >= earlier:
                made = Made()
                for share in self.work(chunk, made):
                    yield self.progress(behind + share * (ahead - behind), rows + share * chunk.rows)
                self._keep(made)
            rows, behind = rows + chunk.rows, ahead
            yield self.progress(behind, rows)
        if not self.journal.chunks:
            self._keep(Made())

    def _keep(self, made: Made) -> None:
        counts = {name: getattr(made, name) for name in COUNTS}
        self.journal.append(counts, (b"" if self.journal.chunks else self.opening()) + made.answers, made.rejects)

    @property
    def rows(self) -> int:
        """How many are in the journal."""
        return self.journal.totals["answered"] + self.journal.totals["rejected"]

    def progress(self, done: float, rows: float) -> Progress:
        counts = [self.journal.totals[name] for name in COUNTS]
        return Progress(done, self.reader.total, self.reader.unit, int(rows), self.before, *counts)


# ---- places -------------------------------------------------------------------------------------------


def rejects_of(output: Path) -> Path:
    """The file of the rows that could not be answered."""
    return output.with_name(f"{output.name}.rejects.jsonl")


def partial_folder(output: Path) -> Path:
    """The folder of what is done so far."""
    return output.with_name(f"{output.name}.parts")


def check_places(source: Path, output: Path, resume: bool, force: bool) -> None:
    if resume and force:
        raise UserError("--resume goes on and --force begins anew.", "Give one of them.")
    check_output(source, output)
    if not force and not (resume and partial_folder(output).exists()):
        check_output_is_new(output)


def check_output(source: Path, output: Path) -> None:
    """What may never be written over, whatever is said."""
    if output.is_dir():
        raise UserError(f"{output}: is a folder.", "Name a file as output.")
    if output.exists() and not output.is_file():
        raise UserError(f"{output}: is no file that could be replaced.", "Name another output.")
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
    about = path.stat()
    return about.st_size, about.st_mtime_ns


def about_machine() -> dict[str, Any]:
    """What the last digits of an answer may depend on."""
    return {
        "processor": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in ("torch", "tokenizers", "numpy", "pyarrow")}
        | {"minbert": __version__},
    }


def model_sha256(module: nn.Module, text: Tokenizer, settings: Any) -> str:
    """SHA-256 of all that a model answers by: weights, tokenizer, settings."""
    digest = hashlib.sha256(text.tokenizer.to_str().encode())
    digest.update(json.dumps(settings, default=str, sort_keys=True).encode())
    for name, tensor in module.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
