"""One result per (system, set, seed), each in a JSON file of its own that is whole or absent."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What a system says about the dev rows, and how far it trained."""

    predictions: list[Any]
    # optimizer steps; None if there are none
    steps: int | None = None
    # the steps that its own defaults would take
    full_steps: int | None = None
    note: str = ""

    @property
    def cut(self) -> bool:
        return self.steps is not None and self.full_steps is not None and self.steps < self.full_steps


@dataclass(frozen=True)
class Cell:
    system: str
    set: str
    seed: int
    digest: str
    answer: Answer
    scores: dict[str, float]
    # of all threads and child processes
    cpu_seconds: float
    # None: there was no limit
    cpu_budget: float | None
    threads: int
    # the sets that were trained together in these seconds
    group: list[str]
    versions: dict[str, str]
    measured: str
    machine: dict[str, Any] = field(default_factory=dict)


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, system: str, name: str, seed: int) -> Path:
        return self.folder / f"{system}--{name}--{seed}.json"

    def get(self, system: str, name: str, seed: int, digest: str) -> Cell | None:
        """None if it was not measured yet, or on other rows."""
        path = self.path(system, name, seed)
        found = read_cell(path) if path.is_file() else None
        return found if found and found.digest == digest else None

    def put(self, cell: Cell) -> None:
        write_json(self.path(cell.system, cell.set, cell.seed), asdict(cell))

    def all(self) -> Iterator[Cell]:
        for path in sorted(self.folder.glob("*.json")):
            yield read_cell(path)


def read_cell(path: Path) -> Cell:
    saved = json.loads(path.read_text(encoding="utf-8"))
    return Cell(**saved | {"answer": Answer(**saved["answer"])})


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
