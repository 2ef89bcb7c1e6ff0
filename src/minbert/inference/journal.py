"""What a long job has done so far, in a folder beside its output: after any end it can go on as if there was none.

job.json says what the job is. The streams `answers` and `rejects` grow chunk by chunk, and a line of journal.jsonl
vouches for each chunk when it is on the disk: what no line vouches for never happened.
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

STREAMS = ("answers", "rejects")
# `whole` is what becomes of the answers when all are there
OURS = {LOCK, HOLDER, "job.json", "job.json.tmp", "journal.jsonl", *STREAMS, "whole", "answers.parquet"}
COMPLETE = {"complete": True}


class Journal:
    """A job that is being done, by one process at a time."""

    def __init__(self, folder: Path, about: Mapping[str, Any], *, resume: bool = False, replace: bool = False) -> None:
        """`about`: what must not change until it is finished. `replace`: begin anew, whatever was done."""
        self.folder = folder
        # how many chunks are done, and what they counted together
        self.chunks = 0
        self.totals: Counter[str] = Counter()
        self.complete = False
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = hold_lock(folder)
        self._files: dict[str, IO[bytes]] = {}
        try:
            self._begin(about, resume, replace)
        except BaseException:
            self.close()
            raise

    def _begin(self, about: Mapping[str, Any], resume: bool, replace: bool) -> None:
        others = sorted(path.name for path in self.folder.iterdir() if path.name not in OURS)
        if others:
            raise UserError(
                f"{self.folder}: holds '{others[0]}', which no call of minbert put there.",
                "Move this folder away, or name another output.",
            )
        job = self.folder / "job.json"
        if job.exists() and not (resume or replace):
            raise UserError(
                f"{self.folder}: holds the work of a call that did not end.",
                "Go on with it: --resume. Or begin anew: --force.",
            )
        if replace or not job.exists():
            for name in OURS - {LOCK, HOLDER}:
                (self.folder / name).unlink(missing_ok=True)
            write_json(job, {"about": about, "replace": replace})
        # whether it may take the place of an older output
        self.replace = self._read_job(about)
        self._recover()

    def _read_job(self, about: Mapping[str, Any]) -> bool:
        try:
            job = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
            changed = list(differences(job["about"], about))
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{self.folder / 'job.json'}: cannot be read.", "Begin anew with --force.") from None
        if changed:
            each = (f"  {name}: {then!s:.70} then, {now!s:.70} now" for name, then, now in changed)
            raise UserError(
                "\n".join([f"{self.folder}: another job was begun there.", *each]),
                "Put back what changed, or begin anew with --force.",
            )
        return bool(job.get("replace"))

    def _recover(self) -> None:
        """Find the chunks that are whole; forget what is behind them."""
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

    def append(self, counts: Mapping[str, int], answers: bytes, rejects: bytes) -> None:
        """The next chunk. When this returns, it has happened."""
        data = dict(zip(STREAMS, (answers, rejects), strict=True))
        try:
            for name, some in data.items():
                self._write(name, some)
            checks = {name: [len(some), zlib.crc32(some)] for name, some in data.items()}
            self._write("journal.jsonl", journal_line({"counts": counts, "streams": checks}))
        except OSError as wrong:
            raise UserError(
                f"{self.folder}: {wrong.strerror or wrong}; the {self.chunks:,} chunks before are kept.",
                "When that is mended, go on with --resume.",
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

    @property
    def placed(self) -> bool:
        """Whether the output is where it belongs, so that only this folder is left to be removed."""
        return self.complete and not any((self.folder / name).exists() for name in ("answers", "whole"))

    def finish(self, make: Callable[[Path, Path], None], output: Path, rejects: Path) -> None:
        """Make the output of the answers, put everything in place, go. Each step can be done again."""
        if not self.complete:
            self._write("journal.jsonl", journal_line(COMPLETE))
            self.complete = True
        # Windows moves and removes no open file
        self._close_files()
        answers, refused, whole = (self.folder / name for name in (*STREAMS, "whole"))
        if answers.exists():
            make(answers, whole)
            fsync_path(whole)
            answers.unlink(missing_ok=True)
        if whole.exists():
            if output.exists() and not self.replace:
                raise UserError(f"{output}: was made by someone else meanwhile.", "Move it away, then --resume.")
            if refused.exists() and refused.stat().st_size:
                refused.replace(rejects)
            elif refused.exists():
                # those of an older output
                rejects.unlink(missing_ok=True)
            refused.unlink(missing_ok=True)
            whole.replace(output)
            fsync_path(output.parent)
        self.remove()

    def remove(self) -> None:
        """Leave nothing behind: at once, so that no half of a folder is ever found."""
        gone = self.folder.with_name(f"{self.folder.name}.done")
        shutil.rmtree(gone, ignore_errors=True)
        if WINDOWS:
            # it renames no folder with an open file in it, and the lock is one
            self.close()
        self.folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
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
    """A line of the journal; None if it was not written to its end."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and line.endswith(b"\n") else None
