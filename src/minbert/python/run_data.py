"""(data for each task: rows in memory, paths, or (train, dev) of these) -> data files, and the tasks found in them."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minbert.data.file_groups import ROLES, FileGroup
from minbert.data.infer_task import ColumnChoice, FoundData, infer_group, infer_tasks, legal_name, make_names_unique
from minbert.data.source import SplitName
from minbert.errors import UserError, did_you_mean
from minbert.python.records import write_rows

TUPLE_ROLES: tuple[SplitName, ...] = ("train", "dev", "test")


class RunData:
    """The files in OUT/data that hold what was given in memory: so a run can be resumed and evaluated later."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.files: list[Path] = []
        self._before = self._record()

    def path_of(self, given: Any, name: str, role: SplitName) -> Path:
        """The file of some rows: itself, or the one they are written to."""
        if isinstance(given, str | Path):
            path = Path(given)
            if not path.is_file():
                raise UserError(f"{path}: there is no such file.")
            return path
        folder = self.out.resolve() / "data"
        folder.mkdir(parents=True, exist_ok=True)
        path, number = folder / f"{name}-{role}.jsonl", 2
        # a run that will be replaced keeps its files until then
        while path.exists():
            path, number = folder / f"{name}-{number}-{role}.jsonl", number + 1
        self.files.append(path)
        write_rows(path, given, f"{name} ({role})")
        return path

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


def find_data(data: Any, stored: RunData, choices: "Choices") -> list[FoundData]:
    """The tasks in the data. Data with a name has its task called like it."""
    if isinstance(data, list) and data and all(isinstance(each, str | Path) for each in data):
        return infer_tasks([Path(each) for each in data], choices.of(""))
    found, given = [], named_data(data)
    choices.check_names(given)
    for name, splits in given.items():
        stem = legal_name(name or "rows")
        files = {role: stored.path_of(rows, stem, role) for role, rows in splits.items()}
        group = infer_group(FileGroup(stem, files), choices.of(name))
        for task in group.tasks:
            if name:
                task.name = stem if len(group.tasks) == 1 else f"{stem}_{task.name}"
        found.append(group)
    make_names_unique(found)
    return found


def named_data(data: Any) -> dict[str, dict[SplitName, Any]]:
    """The data of each name, by its role; "" has no name."""
    if isinstance(data, Mapping) and "train" not in data:
        if not data:
            raise UserError("No data is given.", 'For example: minbert.train({"stars": df}, out="runs/stars")')
        return {str(name): splits_of(each) for name, each in data.items()}
    return {"": splits_of(data)}


def splits_of(data: Any) -> dict[SplitName, Any]:
    """{"train": ..., "validation": ...}, (train, dev), (train, dev, test), or only training data."""
    if isinstance(data, Mapping):
        unknown = [str(key) for key in data if str(key) not in ROLES]
        if unknown or "train" not in data:
            raise UserError(
                f"Data of one task has the keys train, dev and test, not {', '.join(unknown or map(str, data))}.",
                "To give rows, write a list of dicts: one for each row.",
            )
        splits: dict[SplitName, Any] = {ROLES[str(key)]: each for key, each in data.items()}
        if len(splits) < len(data):
            raise UserError(f"Two dev sets are given: {', '.join(map(str, data))}.", "Give one of them.")
    elif isinstance(data, tuple):
        if not 1 <= len(data) <= 3:
            raise UserError(f"A tuple of {len(data)} is no (train, dev) or (train, dev, test).")
        splits = dict(zip(TUPLE_ROLES, data, strict=False))
    else:
        splits = {"train": data}
    return {role: each for role, each in splits.items() if each is not None}


class Choices:
    """What the user says about columns: for all data, or {name: ...} for each."""

    def __init__(self, text: Any, label: Any, kind: Any, keep_na: bool = False) -> None:
        self.text, self.label, self.kind, self.keep_na = text, label, kind, keep_na

    def check_names(self, known: Collection[str]) -> None:
        for option, given in vars(self).items():
            for name in given if isinstance(given, Mapping) else ():
                if name not in known:
                    raise UserError(f"{option}: there is no data called '{name}'. {did_you_mean(name, known)}")

    def of(self, name: str) -> ColumnChoice:
        text, label, kind = (
            given.get(name) if isinstance(given, Mapping) else given for given in (self.text, self.label, self.kind)
        )
        if kind not in (None, "classify", "score"):
            raise UserError(f"kind is 'classify' or 'score', not {kind!r}.")
        return ColumnChoice(as_names(text), as_names(label), kind or "", keep_na=self.keep_na)


def as_names(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())
