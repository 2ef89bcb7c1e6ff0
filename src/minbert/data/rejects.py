"""Rows that cannot be used, each with its file, line and reason."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from minbert.data.column_request import QUOTE_TEXTS, TOO_MANY_FIELDS
from minbert.errors import UserError, short_path
from minbert.plural import plural

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

    def __init__(self, rejects: Sequence[RejectedRow], most: int = 15, *, checkable: bool = False) -> None:
        """`checkable`: whether they are in files of a recipe, which `minbert check` reads."""
        lines = group_by_reason(rejects, most_ranges=10)
        if len(lines) > most:
            how = "; `minbert check` lists all rows" if checkable else ""
            lines = [*lines[:most], f"... and {plural(len(lines) - most, 'more reason')}{how}."]
        super().__init__("\n".join(lines), f"{advice(rejects)}Fix these rows, or skip them with --skip-bad-rows.")
        self.rejects = list(rejects)


def advice(rejects: Sequence[RejectedRow]) -> str:
    """What may be wrong with the whole file."""
    if any("outside the range" in reject.reason and "inf," not in reject.reason for reject in rejects):
        return "If these scores are right, widen 'range' of the task: --set tasks.TASK.task.range=[LOW,HIGH]. "
    if sum(TOO_MANY_FIELDS in reject.reason for reject in rejects) > len(rejects) / 2:
        return f"{QUOTE_TEXTS}\n"
    if any("not one of the labels" in reject.reason for reject in rejects):
        return "A model predicts only the labels of its training rows, or those that the task lists as 'labels'. "
    return ""


def group_by_reason(rejects: Sequence[RejectedRow], most_ranges: int | None = None) -> list[str]:
    """A line of text for all rows with the same reason: "x.csv:3, 7-9: 'text' is empty"."""
    groups: dict[tuple[Path, str], set[int]] = {}
    for reject in rejects:
        # several tasks may read the same row
        groups.setdefault((reject.path, reject.reason), set()).add(reject.line)
    return [
        f"{short_path(path)}:{line_ranges(lines, most_ranges)}: {reason}" for (path, reason), lines in groups.items()
    ]


def line_ranges(lines: Collection[int], most: int | None) -> str:
    """[3, 7, 8, 9] -> "3, 7-9"."""
    ranges: list[list[int]] = []
    for line in sorted(lines):
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    more = [] if most is None or len(ranges) <= most else [f"... ({len(lines):,} rows)"]
    return ", ".join([*(str(first) if first == last else f"{first}-{last}" for first, last in ranges[:most]), *more])


def count_reasons(rejects: Iterable[RejectedRow]) -> dict[str, int]:
    """The reasons, the most frequent first."""
    return dict(Counter(reject.reason for reject in rejects).most_common())


def describe_reasons(reasons: Mapping[str, int], most: int = 3) -> str:
    """Why rows are skipped, in words: "11 a dev row of another task, 2 'label' is empty"."""
    if len(reasons) <= 1:
        return next(iter(reasons), "")
    shown = dict(list(reasons.items())[:most])
    others = sum(reasons.values()) - sum(shown.values())
    more = [f"{others:,} for other reasons"] if others else []
    return ", ".join([*(f"{rows:,} {reason}" for reason, rows in shown.items()), *more])


def read_all(read: Callable[[SourceT], ReadT], sources: Iterable[SourceT]) -> list[ReadT]:
    """Read all sources, then report the bad rows of all of them in one error."""
    found, rejects = [], []
    for source in sources:
        try:
            found.append(read(source))
        except BadRows as bad:
            rejects += bad.rejects
    if rejects:
        raise BadRows(rejects, checkable=True)
    return found


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
