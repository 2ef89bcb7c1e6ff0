"""Files that are there whole or not at all, and stay there when the machine stops at any instant."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Whole or not at all: a reader never sees half a file."""
    aside = path.with_name(path.name + ".tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def put_in_place(aside: Path, folder: Path) -> None:
    """A finished folder takes the place of another; until then the old one is there, as it is or as `.old`."""
    for path in aside.rglob("*"):
        sync(path)
    sync(aside)
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    aside.rename(folder)
    sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
