"""(data for each task: rows in memory, paths, or (train, dev) of these) -> data files, and the tasks found in them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.config.task import Label, label_key
from minbert.data.file_groups import FileGroup
from minbert.data.infer_task import (
    ColumnChoice,
    FoundData,
    FoundTask,
    infer_group,
    infer_tasks,
    legal_name,
    make_names_unique,
)
from minbert.data.source import SplitName
from minbert.errors import UserError, short_path
from minbert.python.choices import Choices
from minbert.python.given_data import named_data
from minbert.python.records import TUPLE_NAMES, WrittenRows, write_rows
from minbert.python.user_warning import warn_user


class RunData:
    """The files in OUT/data that hold what was given in memory: so a run can be resumed and evaluated later."""

    def __init__(self, out: Path) -> None:
        self.out = out
        # each file that was written, and what it holds in words
        self.written: dict[Path, str] = {}
        # what else is known about the rows of a file
        self.known: dict[Path, WrittenRows] = {}
        self._before = self._record()

    @property
    def files(self) -> list[Path]:
        return list(self.written)

    def path_of(
        self, given: Any, name: str, role: SplitName, where: str = "", tuple_names: tuple[str, ...] = ()
    ) -> Path:
        """The file of some rows: itself, or the one they are written to. `where`: what to call them in messages."""
        where = where or f"{name} ({role})"
        if isinstance(given, str | Path):
            return existing_file(Path(given), where)
        folder = self.out.resolve() / "data"
        folder.mkdir(parents=True, exist_ok=True)
        path, number = folder / f"{name}-{role}.jsonl", 2
        # a run that will be replaced keeps its files until then
        while path.exists():
            path, number = folder / f"{name}-{number}-{role}.jsonl", number + 1
        self.written[path] = where
        self.known[path] = write_rows(path, given, where, tuple_names)
        return path

    def in_words(self, message: str) -> str:
        """A message that names what was given instead of the files that hold it: row 3 for line 4."""
        for path, where in self.written.items():
            for spelled in (str(path), short_path(path), path.name):
                lines = rf"{re.escape(spelled)}:(\d+(?:(?:, |-)\d+)*)"
                message = re.sub(lines, lambda found, where=where: f"{where}, {rows_of(found[1])}", message)  # type: ignore[misc]
                message = message.replace(spelled, where)
        return message

    def discard_unless_used(self) -> None:
        """Remove the files if no run was created for them."""
        if self._record() != self._before:
            return
        for path in self.files:
            path.unlink(missing_ok=True)
        for folder in (self.out / "data", self.out):
            # only if it is empty
            with suppress(OSError):
                folder.rmdir()

    def _record(self) -> bytes | None:
        path = self.out / "run.json"
        return path.read_bytes() if path.is_file() else None


def rows_of(lines: str) -> str:
    """Lines of a file that was written for rows in memory -> these rows, counted from 0: "3-4, 7" -> "rows 2-3, 6"."""
    rows = re.sub(r"\d+", lambda line: str(int(line[0]) - 1), lines)
    return f"row {rows}" if rows.isdecimal() else f"rows {rows}"


def existing_file(path: Path, where: str) -> Path:
    if path.is_dir():
        raise UserError(f"{where}: {path} is a directory, not a file.", "Name a file in it.")
    if not path.is_file():
        raise UserError(f"{where}: there is no file {path}.", f"Check the path; relative paths begin at {Path.cwd()}.")
    return path


def find_data(data: Any, stored: RunData, choices: Choices) -> list[FoundData]:
    """The tasks in the data. Data with a name has its task called like it."""
    if isinstance(data, list) and data and all(isinstance(each, str | Path) for each in data):
        paths = [existing_file(Path(each), "data") for each in data]
        in_files = infer_tasks(paths, choices.of(""))
        choices.set_metrics({task.name: [task] for each in in_files for task in each.tasks})
        return in_files
    found, given = [], named_data(data)
    choices.check_names(given)
    for name, splits in given.items():
        stem = legal_name(name or "rows")
        if name and stem != name:
            warn_user(f"The name '{name}' becomes '{stem}': names of tasks have letters, digits, - and _.")
        files = {role: stored.path_of(rows, stem, role) for role, rows in splits.items()}
        known = {role: stored.known.get(path, WrittenRows()) for role, path in files.items()}
        group = infer_group(FileGroup(stem, files), with_known(choices.of(name), known))
        for task in group.tasks:
            keep_types(task, known)
            if known["train"].tuples and not choices.text and not choices.label:
                task.reasons |= dict.fromkeys(("text", "label"), "by its place in the tuples")
            if name:
                task.name = stem if len(group.tasks) == 1 else f"{stem}_{task.name}"
        found.append(group)
    choices.set_metrics({name: group.tasks for name, group in zip(given, found, strict=True)})
    make_names_unique(found)
    return found


def with_known(choice: ColumnChoice, known: Mapping[SplitName, WrittenRows]) -> ColumnChoice:
    """What the user says, and what the rows say about themselves: declared labels, and the columns of tuples."""
    declared = {column: labels for each in reversed(list(known.values())) for column, labels in each.declared.items()}
    if known["train"].tuples:
        *text, label = TUPLE_NAMES[known["train"].tuples]
        choice = replace(choice, text=choice.text or tuple(text), label=choice.label or (label,))
    return replace(choice, declared=declared)


def keep_types(task: FoundTask, known: Mapping[SplitName, WrittenRows]) -> None:
    """Labels with the type and the spelling that they have in memory, which files may not keep."""
    given: dict[str, Label] = {}
    for each in known.values():
        given = {**each.labels(task.settings["label"]), **given}
    if "labels" in task.settings:
        task.settings["labels"] = [given.get(label_key(label), label) for label in task.settings["labels"]]
