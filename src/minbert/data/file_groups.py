"""Paths of data files -> the files of one task each: x-train.csv, x-dev.csv and x-test.csv belong together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minbert.data.source import SplitName
from minbert.errors import UserError

ROLES: dict[str, SplitName] = {
    "train": "train", "training": "train", "dev": "dev", "valid": "dev", "validation": "dev", "val": "dev",
    "eval": "dev", "test": "test",
}  # fmt: skip
ROLE_IN_NAME = re.compile(rf"(?:(.*)[-_. ])?({'|'.join(ROLES)})(?:[-_. ].*)?", re.IGNORECASE)


@dataclass(frozen=True)
class FileGroup:
    """The files that are learned from, measured on and tested on together."""

    stem: str
    files: dict[SplitName, Path]

    @property
    def train(self) -> Path:
        return self.files["train"]


def group_files(paths: Sequence[Path]) -> list[FileGroup]:
    groups: dict[tuple[Path, str], dict[SplitName, Path]] = {}
    for path in paths:
        stem, role = split_name(path)
        key = (path.parent, stem) if role else (path, stem)
        files = groups.setdefault(key, {})
        if (role or "train") in files:
            raise UserError(
                f"{files[role or 'train']} and {path} are both the {role or 'train'} file of '{stem or 'one task'}'.",
                "Name one of them, or rename one of them.",
            )
        files[role or "train"] = path
    return [whole_group(stem, files, alone=len(paths) == 1) for (_, stem), files in groups.items()]


def whole_group(stem: str, files: dict[SplitName, Path], alone: bool) -> FileGroup:
    """`alone`: no other file is named, so this one is learned from, whatever its name."""
    if "train" not in files:
        if not alone:
            names = " and ".join(str(path) for path in files.values())
            raise UserError(
                f"{names}: which file is learned from?",
                "Name the file of the same name that ends in -train too. A file of another task needs another name, "
                "without dev or test at its end.",
            )
        files = {"train": next(iter(files.values()))}
    return FileGroup(stem or files["train"].resolve().parent.name, files)


def split_name(path: Path) -> tuple[str, SplitName | None]:
    """What a file is called without its ending and its role, and its role."""
    name = re.sub(r"\.(csv|tsv|txt|jsonl|ndjson|json|parquet|pq|xlsx)(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    found = ROLE_IN_NAME.fullmatch(name)
    return ((found[1] or "").strip("-_. "), ROLES[found[2].lower()]) if found else (name, None)
