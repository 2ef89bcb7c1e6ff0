"""Comparisons on a real Ray of two workers, one of them killed half-way."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minbert.comparison.store import Store

pytest.importorskip("ray", reason="the extra 'ray' is not installed")


def is_finished(run: Path) -> bool:
    return bool(json.loads((run / "run.json").read_text(encoding="utf-8"))["state"] == "finished")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Ray cluster for these tests, with room for two trials."""
    ray = shutil.which("ray", path=str(Path(sys.executable).parent))
    assert ray is not None
    address = f"127.0.0.1:{free_port()}"
    # sockets have short names
    scratch = Path("/tmp") / f"ray-{os.getpid()}"
    options = ["--num-cpus=2", "--num-gpus=0", "--include-dashboard=false", "--disable-usage-stats"]
    head = [ray, "start", "--head", "--node-ip-address=127.0.0.1", f"--port={address.split(':')[1]}"]
    started = subprocess.Popen(
        [*head, "--block", f"--temp-dir={scratch}", "--object-store-memory=80000000", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield address
    finally:
        # its processes are a group of their own
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def compare(*words: object, address: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "RAY_ADDRESS": address}
    if not address:
        del environment["RAY_ADDRESS"]
    command = [sys.executable, "-m", "minbert", "compare", "demo", "fast.toml", "--seeds", "2", "--steps", "40"]
    return subprocess.Popen(
        [*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fast.toml").write_text('extends = "demo"\n\n[optimizer]\nlearning_rate = 1e-3\n', encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time(cluster: str, here: Path, tiny: Path) -> None:
    driver = compare("--backbone", tiny, "--engine", "ray", "--jobs", 2, "--out", "far", address=cluster)
    killed = None
    end = time.monotonic() + 180
    while killed is None and time.monotonic() < end and driver.poll() is None:
        # half-way: it has steps behind it and is not done
        for log in here.glob("far/trials/*/metrics.jsonl"):
            if len(log.read_text(encoding="utf-8").splitlines()) > 5 and not is_finished(log.parent):
                killed = json.loads((log.parent / "run.json").read_text(encoding="utf-8"))["pid"]
                os.kill(killed, signal.SIGKILL)
                break
        time.sleep(0.02)
    _, err = driver.communicate()
    assert killed is not None, f"no trial was caught half-way\n{err}"
    assert driver.returncode == 0, err
    near = compare("--backbone", tiny, "--jobs", 2, "--out", "near")
    _, err = near.communicate()
    assert near.returncode == 0, err
    found = [Store(here / name / "results.sqlite").results() for name in ("far", "near")]
    assert len(found[0]) == 4
    scores = [{key: (row.state, row.scores) for key, row in rows.items()} for rows in found]
    assert scores[0] == scores[1]
    resumed = [json.loads(path.read_text()).get("resumed") for path in here.glob("far/trials/*/run.json")]
    assert sum(bool(each) for each in resumed) == 1


def test_no_cluster_is_a_clear_mistake(here: Path, tiny: Path) -> None:
    driver = compare("--backbone", tiny, "--engine", "ray", "--out", "x", address=f"127.0.0.1:{free_port()}")
    _, err = driver.communicate()
    assert driver.returncode == 2
    assert "There is no Ray cluster" in err
    assert "ray start --head" in err
