"""Files that are written whole or not at all, and survive a crash at any moment."""

import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from minbert.errors import UserError

WINDOWS = os.name == "nt"
# The holder has a file of its own: what is locked cannot be read by others on Windows.
LOCK, HOLDER = "lock", "lock.holder"
# seconds to wait for a reader
PATIENCE = 5.0


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader never sees half of it."""
    aside = path.with_name(path.name + ".tmp")
    # the same bytes on every system
    with aside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    move_file(aside, path)
    fsync_path(path.parent)


def move_file(source: Path, target: Path) -> None:
    """Rename, in place of a file that is there."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            # Windows refuses while anybody reads one of them, which is soon over
            if not WINDOWS or time.monotonic() > until:
                raise
            time.sleep(0.05)


def fsync_path(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    if WINDOWS and path.is_dir():
        # it opens no folders, and keeps their lists of names by itself
        return
    # Windows syncs only what is open for writing
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(aside: Path, folder: Path) -> None:
    """Replace a folder by a finished one; until then the old one is there, under its name or as `.old`."""
    for path in aside.rglob("*"):
        fsync_path(path)
    fsync_path(aside)
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        move_file(folder, old)
    move_file(aside, folder)
    fsync_path(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


class FolderLock:
    """A folder's lock, until it is closed: the system takes it back when the process ends, however it ends."""

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def close(self) -> None:
        self._lock.release()


def hold_lock(folder: Path) -> FolderLock:
    """Take a folder's lock, or say who has it."""
    # not of one thread: whoever closes it may be another
    lock = FileLock(folder / LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(f"{folder}: {holder_of(folder)} is at work there.", "Wait until it ends, or stop it.") from None
    (folder / HOLDER).write_text(f"process {os.getpid()} on {platform.node()}\n", encoding="utf-8")
    return FolderLock(lock)


def holder_of(folder: Path) -> str:
    """Who holds a folder; it may have no time yet to say so."""
    try:
        said = (folder / HOLDER).read_text(encoding="utf-8")
    except (OSError, ValueError):
        said = ""
    # without its end, it is only half written
    return said.strip() if said.endswith("\n") else "another process"


def differences(then: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Where two nested tables differ: (dotted name, then, now), with "left out" for a missing value."""
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
