"""Measurements in a separate process: `python -m bench.child WHAT ...` prints memory and seconds as JSON."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Used:
    # bytes
    peak: int
    # one per repetition
    seconds: list[float]


def run_child(what: str, *arguments: object) -> Used:
    command = [sys.executable, "-m", "bench.child", what, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"bench.child {what} failed: {reason}")
    return Used(**json.loads(done.stdout.splitlines()[-1]))


def peak_memory() -> int:
    """The peak memory of this process, in bytes."""
    # getrusage only as a fallback: its peak survives exec, so a child starts with the peak of its parent
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.is_file() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def train_ours(recipe: str, steps: str) -> list[float]:
    from bench import ours

    training = ours.Training(Path(recipe))
    return [clocked(training.step) for _ in range(int(steps))]


def train_peer(data: str, name: str, folder: str, steps: str) -> list[float]:
    from bench import peers
    from bench.data import read_back
    from bench.sizes import BATCH

    training = peers.Training(Path(folder), {name: read_back(Path(data), name)})
    batches = [range(i * BATCH, (i + 1) * BATCH) for i in range(int(steps))]
    return [clocked(partial(training.step, name, rows)) for rows in batches]


def predict(run: str, task: str, one_row: str, source: str, target: str, repeats: str) -> list[float]:
    """Seconds for a file minus seconds for a file of one row, which removes the cost of starting."""
    from bench import ours

    def once(path: str) -> float:
        return clocked(partial(ours.predict_file, Path(run), task, Path(path), Path(target)))

    once(one_row)
    return [once(source) - once(one_row) for _ in range(int(repeats))]


def clocked(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


WHAT: dict[str, Callable[..., list[float]]] = {"train-ours": train_ours, "train-peer": train_peer, "predict": predict}

if __name__ == "__main__":
    seconds = WHAT[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(asdict(Used(peak_memory(), seconds))))
