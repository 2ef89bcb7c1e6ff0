"""Files that are there whole or not at all, and stay there when the machine stops at any instant."""

import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from minbert.errors import UserError


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
    fsync_path(path.parent)


def fsync_path(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(aside: Path, folder: Path) -> None:
    """A finished folder takes the place of another; until then the old one is there, as it is or as `.old`."""
    for path in aside.rglob("*"):
        fsync_path(path)
    fsync_path(aside)
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    aside.rename(folder)
    fsync_path(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def hold_lock(folder: Path) -> IO[str]:
    """A folder's lock, until the file is closed: the system takes it back when the process ends, however it ends."""
    lock = (folder / "lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        raise UserError(f"{folder}: {holder} is at work there.", "Wait until it ends, or stop it.") from None
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {platform.node()}")
    lock.flush()
    return lock


def differences(then: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """What two nested tables do not have in common: dotted name, then, now; "left out" where it is not there."""
    before, after = dict(config_leaves(then)), dict(config_leaves(now))
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            yield name, before.get(name, "left out"), after.get(name, "left out")


def config_leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """{"a": {"b": [1, 2]}} -> ("a.b.0", 1), ("a.b.1", 2)."""
    if not isinstance(value, Mapping | list) or not value:
        yield name, value
        return
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from config_leaves(inner, f"{name}.{key}" if name else str(key))


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
