"""Files that are there whole or not at all, and the lock of a folder."""

import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from minbert import files
from minbert.errors import UserError
from minbert.files import HOLDER, LOCK, fsync_path, hold_lock, move_file, replace_folder, write_json, write_text
from minbert.inference import journal
from minbert.inference.journal import Journal
from minbert.runs.checkpoint import load_newest_checkpoint, save_checkpoint
from minbert.runs.directory import is_locked
from tests.tiny import tiny_bert

HOLDING = (
    "import sys; from pathlib import Path; from minbert.files import hold_lock\nheld = hold_lock(Path(sys.argv[1]))\n"
)


@contextmanager
def holder(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that has the lock, until it is told to end."""
    code = HOLDING + "print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process


def test_the_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    with (
        holder(tmp_path) as other,
        pytest.raises(UserError, match=rf"process {other.pid} on .+ is at work there"),
    ):
        hold_lock(tmp_path)
    hold_lock(tmp_path).close()
    assert {path.name for path in tmp_path.iterdir()} <= {LOCK, HOLDER}


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        other.kill()
        other.wait()
        assert not is_locked(tmp_path)


def test_a_process_that_ends_without_closing_holds_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", HOLDING + "import os; os._exit(3)", str(tmp_path)], check=False)
    assert (tmp_path / HOLDER).read_text(encoding="utf-8").startswith("process ")
    assert not is_locked(tmp_path)


def test_one_process_cannot_hold_a_folder_twice(tmp_path: Path) -> None:
    with closing(hold_lock(tmp_path)):
        assert is_locked(tmp_path)
        with pytest.raises(UserError, match=rf"process {os.getpid()} on .+ is at work there"):
            hold_lock(tmp_path)
        # the one that was refused has taken nothing away
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_another_thread_may_close_the_lock_and_is_refused_like_a_process(tmp_path: Path) -> None:
    held, seen = hold_lock(tmp_path), []

    def elsewhere() -> None:
        seen.append(is_locked(tmp_path))
        held.close()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [True] and not is_locked(tmp_path)


def test_a_lock_that_is_closed_twice_or_forgotten_is_free(tmp_path: Path) -> None:
    held = hold_lock(tmp_path)
    held.close()
    held.close()
    hold_lock(tmp_path)  # nobody keeps it
    assert not is_locked(tmp_path)


@pytest.mark.parametrize("said", [None, b"", b"proc", b"\xff\xfe\n"])
def test_a_holder_that_has_not_yet_said_its_name(tmp_path: Path, said: bytes | None) -> None:
    with closing(hold_lock(tmp_path)):
        (tmp_path / HOLDER).unlink()
        if said is not None:
            (tmp_path / HOLDER).write_bytes(said)
        with pytest.raises(UserError, match="another process is at work there"):
            hold_lock(tmp_path)


def test_the_lock_of_a_job_is_no_stranger_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    with closing(Journal(folder, {"a": 1})):
        with pytest.raises(UserError, match="is at work there"):
            Journal(folder, {"a": 1}, resume=True)
        assert {LOCK, HOLDER} <= {path.name for path in folder.iterdir()}
    with closing(Journal(folder, {"a": 2}, replace=True)):
        assert (folder / HOLDER).exists()


def test_text_has_the_same_bytes_on_every_system(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "one\ntwo\n")
    write_json(tmp_path / "a.json", {"b": 1})
    assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "b": 1\n}\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.txt"]


# ---- what Windows refuses, refused here too ------------------------------------------------------------


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder and nothing that is open for reading only is synced, nothing is moved that is open."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("looks at the open files of this process in /proc")
    synced, replaced, renamed = os.fsync, Path.replace, Path.rename

    def fsync(handle: int) -> None:
        flags = re.search(r"flags:\s*(\d+)", Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="utf-8"))
        assert flags is not None and not stat.S_ISDIR(os.fstat(handle).st_mode)
        if int(flags[1], 8) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(9, "Windows refuses: only open for reading")
        synced(handle)

    def refuse_open(path: Path) -> None:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        handles = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        for name in [*handles, *(Path(line.split(maxsplit=5)[-1]) for line in mapped)]:
            if name == path or path in name.parents:
                raise PermissionError(13, f"Windows refuses: {name} is open", str(path))

    def replace(path: Path, target: Path) -> Path:
        refuse_open(path)
        refuse_open(target)
        return replaced(path, target)

    def rename(path: Path, target: Path) -> Path:
        refuse_open(path)
        return renamed(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(journal, "WINDOWS", True)
    monkeypatch.setattr(files, "PATIENCE", 0.2)


@pytest.mark.usefixtures("windows")
def test_files_are_written_and_folders_swapped_on_windows(tmp_path: Path) -> None:
    for text in ("old", "new"):
        aside = tmp_path / "model.tmp"
        aside.mkdir()
        write_json(aside / "a.json", text)
        replace_folder(aside, tmp_path / "model")
    assert (tmp_path / "model" / "a.json").read_text(encoding="utf-8") == '"new"\n'
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    fsync_path(tmp_path)


@pytest.mark.usefixtures("windows")
def test_a_file_that_is_being_read_is_waited_for_on_windows(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    file = (tmp_path / "a.txt").open(encoding="utf-8")
    timer = threading.Timer(0.1, file.close)
    timer.start()
    write_text(tmp_path / "a.txt", "new")
    timer.join()
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new"
    (tmp_path / "b.txt").write_text("b", encoding="utf-8")
    with (tmp_path / "a.txt").open(encoding="utf-8"), pytest.raises(PermissionError):
        move_file(tmp_path / "b.txt", tmp_path / "a.txt")


@pytest.mark.usefixtures("windows")
def test_a_job_ends_on_windows(tmp_path: Path) -> None:
    done = Journal(tmp_path / "parts", {"a": 1})
    done.append({"answered": 1}, b"yes\n", b"")
    done.finish(lambda appended, target: move_file(appended, target), tmp_path / "out", tmp_path / "rejects")
    assert (tmp_path / "out").read_bytes() == b"yes\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    begun = Journal(tmp_path / "parts", {"a": 1})
    begun.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("windows")
def test_a_checkpoint_that_was_loaded_can_be_replaced_on_windows(tmp_path: Path) -> None:
    bert = tiny_bert()
    save_checkpoint(tmp_path, 4, bert, {"moment": bert.embeddings.word.weight}, keep=1)
    loaded, _ = load_newest_checkpoint(tmp_path)
    save_checkpoint(tmp_path, 4, bert, {}, keep=1)
    assert loaded is not None and loaded.state["moment"].equal(bert.embeddings.word.weight)


def test_a_process_that_died_is_described_without_signals_that_windows_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from minbert.comparison.engines.local import death_reason

    monkeypatch.delattr(signal, "SIGKILL", raising=False)
    assert "memory runs out" in death_reason(-9)
    assert "SIGTERM" in death_reason(-15)
    assert "exit code 3" in death_reason(3)
