"""Rows of the table: what to measure, what was measured, and the file that stores it."""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.context import Context


class CannotMeasure(Exception):
    """The reason why a row stays empty."""


@dataclass(frozen=True)
class Outline:
    """A row before it is measured. `name` can refer to sizes: {sentences:,}."""

    key: str
    name: str
    unit: str
    # the ratio to reach
    goal: float
    peer_name: str
    # the peer's package, to show its version
    package: str = ""


@dataclass(frozen=True)
class Result:
    """What was measured. The ratio is how many times better ours is: higher is always better."""

    ours: float
    peer: float
    ratio: float
    spread: tuple[float, float] | None = None
    note: str = ""
    # if the peer is only known after measuring
    peer_name: str = ""


@dataclass(frozen=True)
class Measurement:
    """Rows that are measured together; each is yielded as soon as it is known."""

    key: str
    rows: tuple[Outline, ...]
    run: Callable[["Context"], Iterator[tuple[str, Result]]]


@dataclass(frozen=True)
class Row:
    key: str
    measurement: str
    name: str
    ours: float | None
    peer: float | None
    unit: str
    ratio: float | None
    spread: tuple[float, float] | None
    goal: float
    # None: not measured; the note gives the reason
    reached: bool | None
    peer_name: str
    peer_version: str
    note: str
    busy: bool
    size: str
    measured: str


def empty_row(measurement: str, outline: Outline, names: dict[str, Any], size: str, reason: str) -> Row:
    return Row(
        key=outline.key,
        measurement=measurement,
        name=outline.name.format(**names),
        ours=None,
        peer=None,
        unit=outline.unit,
        ratio=None,
        spread=None,
        goal=outline.goal,
        reached=None,
        peer_name=outline.peer_name.format(**names),
        peer_version=version_of(outline.package),
        note=reason,
        busy=False,
        size=size,
        measured=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    )


def filled(row: Row, result: Result, doubts: list[str]) -> Row:
    """An empty row filled with a result."""
    return replace(
        row,
        ours=result.ours,
        peer=result.peer,
        ratio=result.ratio,
        spread=result.spread,
        reached=result.ratio >= row.goal,
        peer_name=result.peer_name or row.peer_name,
        note="; ".join(filter(None, [result.note, f"busy: {', '.join(doubts)}" if doubts else ""])),
        busy=bool(doubts),
    )


def version_of(package: str) -> str:
    try:
        return f"{package} {version(package)}" if package else ""
    except PackageNotFoundError:
        return f"{package}, not installed"


def first_line(wrong: Exception) -> str:
    """The error, short enough for a note."""
    lines = str(wrong).strip().splitlines()
    kind = "" if isinstance(wrong, CannotMeasure) else f"{type(wrong).__name__}: "
    return f"{kind}{lines[0] if lines else 'no message'}"


class Results:
    """bench.json: written after each row, so that an interrupted run loses nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.machine: dict[str, Any] = {}
        self.rows: dict[str, Row] = {}
        if path.is_file():
            saved = json.loads(path.read_text(encoding="utf-8"))
            self.machine = saved["machine"]
            self.rows = {row["key"]: Row(**row) for row in saved["rows"]}

    def put(self, row: Row) -> None:
        self.rows[row.key] = row
        self.write()

    def arrange(self, order: list[str]) -> None:
        """Rows in the order of the table; rows that no longer exist are dropped."""
        self.rows = {key: self.rows[key] for key in order if key in self.rows}

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_name(self.path.name + ".tmp")
        with aside.open("w", encoding="utf-8") as file:
            json.dump(
                {"machine": self.machine, "rows": [asdict(row) for row in self.rows.values()]},
                file,
                indent=2,
                ensure_ascii=False,
            )
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.path)
