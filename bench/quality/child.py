"""One system in a process of its own: `python -m bench.quality.child JOB.json ANSWERS.json`."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.quality import ours, peers
from bench.quality.cells import Answer, write_json
from bench.quality.peers import Job
from bench.quality.sets import read_cut

SYSTEMS: dict[str, Callable[[Job], dict[str, Answer]]] = {
    "constant": peers.constant,
    "cosine": peers.cosine,
    "probe": peers.probe,
    "setfit": peers.setfit,
    "trainer": peers.trainer,
    "minbert": ours.minbert,
    "joint": ours.minbert,
}
PACKAGES = ("torch", "transformers", "sentence-transformers", "scikit-learn", "setfit", "datasets", "accelerate")


def versions() -> dict[str, str]:
    found = {}
    for package in (*PACKAGES, "minbert"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main(job_file: str, answers_file: str) -> None:
    asked = json.loads(Path(job_file).read_text(encoding="utf-8"))
    cuts = tuple(read_cut(Path(path)) for path in asked["cuts"])
    work = Path(asked["work"])
    work.mkdir(parents=True, exist_ok=True)
    job = Job(cuts, asked["seed"], Path(asked["backbone"]), work, asked["cpu_budget"])
    answers = SYSTEMS[asked["system"]](job)
    found = {"versions": versions(), "answers": {name: asdict(answer) for name, answer in answers.items()}}
    write_json(Path(answers_file), found)


if __name__ == "__main__":
    main(*sys.argv[1:])
