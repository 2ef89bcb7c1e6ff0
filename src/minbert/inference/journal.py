"""What a long job has done so far, in a folder next to its output, so that it can resume however it ended.

job.json says what the job is. The streams `output` and `rejects` grow chunk by chunk. When a chunk is on the disk,
journal.jsonl gets a line with its sizes and checksums; what has no such line is discarded.
"""

import json
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from minbert.errors import UserError
from minbert.files import HOLDER, LOCK, WINDOWS, differences, fsync_path, hold_lock, write_json

STREAMS = ("output", "rejects")
# `finished` is the file that is made of the output stream at the end
OURS = {LOCK, HOLDER, "job.json", "job.json.tmp", "journal.jsonl", *STREAMS, "finished", "output.parquet"}
COMPLETE = {"complete": True}


class Journal:
    """A job in progress, by one process at a time."""

    def __init__(
        self, folder: Path, metadata: Mapping[str, Any], *, resume: bool = False, replace: bool = False
    ) -> None:
        """`metadata`: what must not change until it is finished. `replace`: start again, and discard what was done."""
        self.folder = folder
        # how many chunks are done, and the sums of their counts
        self.chunks = 0
        self.totals: Counter[str] = Counter()
        self.complete = False
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold_lock(folder)
        self._files: dict[str, IO[bytes]] = {}
        try:
            self._open(metadata, resume, replace)
        except BaseException:
            self.close()
            raise

    def _open(self, metadata: Mapping[str, Any], resume: bool, replace: bool) -> None:
        others = sorted(path.name for path in self.folder.iterdir() if path.name not in OURS)
        if others:
            raise UserError(
                f"{self.folder}: holds '{others[0]}', which minbert did not write.",
                "Move this folder away, or name another output.",
            )
        job = self.folder / "job.json"
        if job.exists() and not (resume or replace):
            raise UserError(
                f"{self.folder}: holds the work of a call that did not finish.",
                "Continue it with --resume, or start again with --force.",
            )
        if replace or not job.exists():
            for name in OURS - {LOCK, HOLDER}:
                (self.folder / name).unlink(missing_ok=True)
            write_json(job, {"metadata": metadata, "replace": replace})
        # whether it may replace an older output
        self.replace = self._read_job(metadata)
        self._recover()

    def _read_job(self, metadata: Mapping[str, Any]) -> bool:
        try:
            job = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
            changed = list(differences(job["metadata"], metadata))
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self.folder / 'job.json'}: cannot be read.", "Start again with --force.") from None
        if changed:
            each = (f"  {name}: {then!s:.70} then, {now!s:.70} now" for name, then, now in changed)
            raise UserError(
                "\n".join([f"{self.folder}: holds the work of a different call.", *each]),
                "Undo the changes, or start again with --force.",
            )
        return bool(job.get("replace"))

    def _recover(self) -> None:
        """Find the complete chunks; discard what follows them."""
        path = self.folder / "journal.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        entries = [journal_entry(line) for line in lines]
        self.complete = COMPLETE in entries
        if self.complete:
            for entry in entries:
                self._count((entry or {}).get("counts"))
            return
        self._files = {name: (self.folder / name).open("a+b") for name in (path.name, *STREAMS)}
        for file in self._files.values():
            file.seek(0)
        sizes = dict.fromkeys(self._files, 0)
        for line, entry in zip(lines, entries, strict=True):
            if entry is None or any(
                zlib.crc32(self._files[name].read(size)) != crc for name, (size, crc) in entry["streams"].items()
            ):
                break
            self._count(entry["counts"])
            sizes[path.name] += len(line)
            for name, (size, _) in entry["streams"].items():
                sizes[name] += size
        for name, file in self._files.items():
            file.truncate(sizes[name])
        fsync_path(self.folder)

    def append(self, counts: Mapping[str, int], output: bytes, rejects: bytes) -> None:
        """Add the next chunk. When this returns, it is on the disk."""
        data = dict(zip(STREAMS, (output, rejects), strict=True))
        try:
            for name, content in data.items():
                self._write(name, content)
            checks = {name: [len(content), zlib.crc32(content)] for name, content in data.items()}
            self._write("journal.jsonl", journal_line({"counts": counts, "streams": checks}))
        except OSError as wrong:
            raise UserError(
                f"{self.folder}: {wrong.strerror or wrong}; the {self.chunks:,} chunks before it are kept.",
                "Fix that, then continue with --resume.",
            ) from None
        self._count(counts)

    def _count(self, counts: Mapping[str, int] | None) -> None:
        if counts is not None:
            self.chunks += 1
            self.totals.update(counts)

    def _write(self, name: str, data: bytes) -> None:
        if data:
            file = self._files[name]
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def finish(self, make: Callable[[Path, Path], None], output: Path, rejects: Path) -> None:
        """Make the output, move everything into place, remove the folder. Each step can be repeated."""
        if not self.complete:
            self._write("journal.jsonl", journal_line(COMPLETE))
            self.complete = True
        # Windows cannot move or remove an open file
        self._close_files()
        stream, rejected, finished = (self.folder / name for name in (*STREAMS, "finished"))
        if stream.exists():
            make(stream, finished)
            fsync_path(finished)
            stream.unlink(missing_ok=True)
        if finished.exists():
            if output.exists() and not self.replace:
                raise UserError(
                    f"{output}: was created by another program.", "Move it away, then continue with --resume."
                )
            if rejected.exists() and rejected.stat().st_size:
                rejected.replace(rejects)
            elif rejected.exists():
                # the rejects of an older output
                rejects.unlink(missing_ok=True)
            rejected.unlink(missing_ok=True)
            finished.replace(output)
            fsync_path(output.parent)
        self.remove()

    def remove(self) -> None:
        """Remove the folder: renamed first, so that nothing ever finds half of it."""
        removed = self.folder.with_name(f"{self.folder.name}.done")
        shutil.rmtree(removed, ignore_errors=True)
        if WINDOWS:
            # it cannot rename a folder with an open file in it, such as the lock
            self.close()
        self.folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
        self.close()

    def close(self) -> None:
        self._close_files()
        self._lock.close()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()


def journal_line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def journal_entry(line: bytes) -> dict[str, Any] | None:
    """A line of the journal; None if it is incomplete."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and line.endswith(b"\n") else None
