"""Rows that cannot be used, each with its file, line and reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from minbert.errors import UserError, short_path

SourceT = TypeVar("SourceT")
ReadT = TypeVar("ReadT")


@dataclass(frozen=True)
class RejectedRow:
    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{short_path(self.path)}:{self.line}: {self.reason}"


class MissingValue(ValueError):
    """A field that is empty, as opposed to one that is wrong."""


class BadRows(UserError):
    """Rows that could not be read: the message shows the first of them, `rejects` has all."""

    def __init__(self, rejects: Sequence[RejectedRow], most: int = 15) -> None:
        lines = [str(reject) for reject in rejects[:most]]
        if len(rejects) > most:
            lines.append(f"... and {len(rejects) - most} more bad rows; `minbert check` lists them all.")
        outside = any("outside the range" in reject.reason and "inf," not in reject.reason for reject in rejects)
        widen = (
            "If these scores are right, widen 'range' of the task: --set tasks.TASK.task.range=[LOW,HIGH]. "
            if outside
            else ""
        )
        super().__init__("\n".join(lines), f"{widen}Fix these rows, or skip them with --skip-bad-rows.")
        self.rejects = list(rejects)


def read_all(read: Callable[[SourceT], ReadT], sources: Iterable[SourceT]) -> list[ReadT]:
    """Read all sources, then report the bad rows of all of them in one error."""
    found, rejects = [], []
    for source in sources:
        try:
            found.append(read(source))
        except BadRows as bad:
            rejects += bad.rejects
    if rejects:
        raise BadRows(rejects)
    return found


def common_reasons(rejects: Iterable[RejectedRow], most: int = 3) -> str:
    """Why rows are left out, the most common reason first: "'stars' is empty"."""
    counts = Counter(reject.reason for reject in rejects).most_common()
    if len(counts) == 1:
        return counts[0][0]
    more = [f"{len(counts) - most} other reasons"] if len(counts) > most else []
    return ", ".join([*(f"{count:,}: {reason}" for reason, count in counts[:most]), *more])


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
