"""Systems x sets x seeds -> the missing results, each measured in a child process with the same threads."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from bench.quality.cells import Answer, Cell, Store
from bench.quality.scores import score
from bench.quality.sets import Cut

ROOT = Path(__file__).parents[2]
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
# peers may take this many times the CPU seconds of minbert on the same set, and at least LEAST seconds of the clock
FACTOR, LEAST = 1.5, 120.0
# when there is no result of minbert yet
WITHOUT = 240.0


@dataclass(frozen=True)
class System:
    title: str
    # whether the seed changes anything; otherwise one run stands for all seeds
    seeded: bool = False
    # whether its own defaults take longer than anyone would wait
    limited: bool = False
    pairs: bool = True
    classes: bool = True
    joint: bool = False

    def fits(self, cut: Cut) -> bool:
        return (self.pairs or not cut.set.paired) and (self.classes or cut.set.scored)


# minbert first, because its time sets the budget of the others
SYSTEMS = {
    "constant": System("constant answer"),
    "cosine": System("untrained cosine", classes=False),
    "probe": System("probe"),
    "minbert": System("minbert", seeded=True),
    "joint": System("minbert, one model for all sets", seeded=True, joint=True),
    "trainer": System("Hugging Face Trainer", seeded=True),
    "setfit": System("SetFit", seeded=True, limited=True, pairs=False),
}


@dataclass(frozen=True)
class Plan:
    store: Store
    # for the cut data and the files of running systems
    folder: Path
    # all sets of this size; a joint model is always trained on all of them
    cuts: dict[str, Cut]
    backbone: Path
    threads: int
    # seconds of the clock on an idle machine; None: by minbert's own time
    budget: float | None
    machine: dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """One child process: a system, the sets it is trained on together, and a seed."""

    system: str
    sets: tuple[str, ...]
    seed: int

    @property
    def name(self) -> str:
        return f"{self.system}--{'+'.join(self.sets) if len(self.sets) < 3 else 'all'}--{self.seed}"


def missing(plan: Plan, systems: Sequence[str], sets: Sequence[str], seeds: Sequence[int]) -> Iterator[Piece]:
    """Seed by seed, so that an interrupted run has something for every system."""
    for seed in seeds:
        for name in systems:
            system = SYSTEMS[name]
            if not system.seeded and seed != seeds[0]:
                continue
            groups = [tuple(plan.cuts)] if system.joint else [(each,) for each in sets]
            for group in groups:
                there = [plan.store.get(name, each, seed, plan.cuts[each].digest) for each in group]
                whole = all(cell and cell.group == list(group) for cell in there)
                if not whole and all(system.fits(plan.cuts[each]) for each in group):
                    yield Piece(name, group, seed)


def cpu_budget(plan: Plan, piece: Piece) -> float | None:
    if not SYSTEMS[piece.system].limited:
        return None
    if plan.budget is not None:
        return plan.budget * plan.threads
    name = piece.sets[0]
    found = (cell for cell in plan.store.all() if (cell.system, cell.set) == ("minbert", name))
    ours = [cell for cell in found if cell.digest == plan.cuts[name].digest]
    if not ours:
        return WITHOUT * plan.threads
    return max(LEAST * plan.threads, FACTOR * mean(cell.cpu_seconds for cell in ours))


def measure(plan: Plan, piece: Piece) -> list[Cell]:
    """Run one piece and store its results; raises RuntimeError with the reason if the child fails."""
    work = plan.folder / "work" / piece.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    budget = cpu_budget(plan, piece)
    job = {
        "system": piece.system,
        "cuts": [str(plan.folder / "data" / f"{name}.json") for name in piece.sets],
        "seed": piece.seed,
        "backbone": str(plan.backbone),
        "work": str(work),
        "cpu_budget": budget,
    }
    (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
    cpu_seconds = run_child(work, plan.threads)
    found = json.loads((work / "answers.json").read_text(encoding="utf-8"))
    cells = [
        cell_of(plan, piece, name, Answer(**answer), budget, cpu_seconds, found["versions"])
        for name, answer in found["answers"].items()
    ]
    for cell in cells:
        plan.store.put(cell)
    shutil.rmtree(work)
    return cells


def run_child(work: Path, threads: int) -> float:
    """Its CPU seconds, those of its own children included."""
    env = os.environ | OFFLINE | {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "MKL", "OPENBLAS")}
    command = [sys.executable, "-m", "bench.quality.child", str(work / "job.json"), str(work / "answers.json")]
    with (work / "log.txt").open("w", encoding="utf-8") as log:
        child = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)
        # of this child alone: others may run at the same time
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        lines = (work / "log.txt").read_text(encoding="utf-8").strip().splitlines() or ["no message"]
        raise RuntimeError(f"{lines[-1]} (all of it: {work / 'log.txt'})")
    return usage.ru_utime + usage.ru_stime


def cell_of(
    plan: Plan,
    piece: Piece,
    name: str,
    answer: Answer,
    budget: float | None,
    cpu_seconds: float,
    versions: dict[str, str],
) -> Cell:
    cut = plan.cuts[name]
    return Cell(
        system=piece.system,
        set=name,
        seed=piece.seed,
        digest=cut.digest,
        answer=answer,
        scores={metric: score(cut, metric, answer.predictions) for metric in cut.set.metrics},
        cpu_seconds=cpu_seconds,
        cpu_budget=budget,
        threads=plan.threads,
        group=list(piece.sets),
        versions=versions,
        measured=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        machine=plan.machine,
    )
