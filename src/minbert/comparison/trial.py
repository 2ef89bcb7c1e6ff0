"""One training of a comparison, known by its content -> its result, however often it is killed on the way."""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from minbert.comparison.results import TrialCost, TrialResult
from minbert.config.recipe import Recipe
from minbert.data.dataset import locate
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import read_config
from minbert.errors import UserError
from minbert.files import sha256, write_json
from minbert.runs.directory import backbone_files, comparable_config, is_locked, read_run, resolved_config
from minbert.runs.events import Event, Finished, Started, Stopped
from minbert.runs.fit import SaveEvery, StopRequest
from minbert.runs.metrics_log import steps_and_tokens
from minbert.runs.run import resume_run, start_run
from minbert.training.loop import Step
from minbert.training.prepare import parameter_counts

# seconds between two notes of how long a cell has trained, and between its checkpoints
NOTE_EVERY, SAVE_EVERY = 5.0, 120.0
# seconds to wait for the process of a killed driver, which ends with its step
PATIENCE = 60.0

# told now and then: steps done of all steps
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Trial:
    """A recipe with its seed, cut to the budget: all that a training depends on."""

    key: str
    label: str
    recipe: Recipe
    data_root: Path | None = None
    # no part of what it is known by: where it matters, a training without it has no result
    skip_bad_rows: bool = False

    def folder(self, comparison: Path) -> Path:
        return comparison / "trials" / self.key


def make_trial(label: str, recipe: Recipe, data_root: Path | None, skip_bad_rows: bool = False) -> Trial:
    return Trial(trial_content(recipe, data_root)[:20], label, recipe, data_root, skip_bad_rows)


def trial_content(recipe: Recipe, data_root: Path | None) -> str:
    """One name for the same recipe on the same data and weights, wherever their files lie."""
    tasks = recipe.read_tasks()
    table = comparable_config(resolved_config(recipe, tasks))
    files = [(task, part) for task in tasks.values() for part in ("train", "dev") if getattr(task.files, part)]
    data = [(task.name, part, file_sha256(locate(task, part, data_root))) for task, part in files]
    weights = [(path.name, file_sha256(path)) for path in backbone_files(find_backbone(recipe.backbone))]
    teachers = []
    for stage in table["stages"]:
        # a teacher is what it answers, not where it lies
        paths = stage.get("distillation", {}).pop("teachers", [])
        teachers += [[file_sha256(path) for path in sorted(Path(each).rglob("*.safetensors"))] for each in paths]
    # the order of the tasks decides which is drawn first, and in which order fresh parts are made
    parts = [table, list(tasks), data, weights, teachers]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def file_sha256(path: Path) -> str:
    return sha256(path)


def train_trial(trial: Trial, comparison: Path, tell: Tell, stop_requested: StopRequest) -> TrialResult:
    """Train, go on, or only read what is there. A mistake or a failure is a result too; Stopped is not."""
    run = trial.folder(comparison)
    done = read_result(run)
    if done is not None:
        return done
    try:
        if trial_content(trial.recipe, trial.data_root)[: len(trial.key)] != trial.key:
            raise UserError("its data or weights have changed since it was asked for.")
        wait_until_free(run)
        for event in train_events(trial, run, stop_requested):
            if isinstance(event, Started):
                tell(event.done, event.steps)
            elif isinstance(event, Step):
                tell(event.number, event.total)
        result = finished_result(trial, run, comparison)
    except Stopped:
        raise
    except Exception as wrong:  # whatever it is, it is this cell's, and the others can go on
        where = str(run.relative_to(comparison))
        return TrialResult(trial.key, trial.label, trial.recipe.seed, "failed", failure_reason(wrong), run=where)
    write_json(run / "result.json", asdict(result))
    return result


def failure_reason(wrong: BaseException) -> str:
    """Why it failed, and what to do about it where that is known."""
    if isinstance(wrong, UserError):
        return f"{wrong.problem} {wrong.next_step}".strip()
    return f"{type(wrong).__name__}: {wrong}"


def train_events(trial: Trial, run: Path, stop_requested: StopRequest) -> Iterator[Event]:
    """The events of what is left to do, timed."""
    about = read_run(run) if (run / "run.json").is_file() else {}
    if about.get("state") == "finished":
        # killed between the end of the training and its result
        return
    seconds, most, then = 0.0, 0.0, 0.0
    if not about and run.is_dir():
        # killed before it said what it is; the folder is the comparison's own
        shutil.rmtree(run)
    if "recipe" in about:
        notes = read_notes(run)
        seconds, most, then = notes.get("seconds", 0.0), notes.get("memory", 0.0), notes.get("step", 0.0)
    events = resumed_or_started(trial, run, "recipe" in about, stop_requested)
    last = noted = time.monotonic()
    step = steps = 0
    for event in events:
        now = time.monotonic()
        if isinstance(event, Started):
            # after a kill some steps are done again: the time they took before is not counted
            seconds *= min(1.0, event.done / then) if then else 0.0
        if isinstance(event, Step):
            seconds, step, steps = seconds + now - last, event.number, event.total
        ended = isinstance(event, Finished) or (isinstance(event, Step) and step == steps)
        if ended or (step and now - noted > NOTE_EVERY):
            notes = {"seconds": round(seconds, 2), "memory": max(most, most_memory()), "step": step, "steps": steps}
            write_json(run / "notes.json", notes)
            noted = now
        yield event
        last = time.monotonic()


def resumed_or_started(trial: Trial, run: Path, begun: bool, stop_requested: StopRequest) -> Iterator[Event]:
    """What was begun goes on; where that is refused, as of a teacher that lies elsewhere now, it begins again."""
    every = SaveEvery(seconds=SAVE_EVERY)
    if begun:
        events = resume_run(run, trial.recipe, data_root=trial.data_root, every=every, stop_requested=stop_requested)
        try:
            first = next(events)
        except UserError:
            pass
        else:
            yield first
            yield from events
            return
    yield from start_run(
        trial.recipe,
        run,
        data_root=trial.data_root,
        skip_bad_rows=trial.skip_bad_rows,
        force=True,
        every=every,
        stop_requested=stop_requested,
    )


def finished_result(trial: Trial, run: Path, comparison: Path) -> TrialResult:
    about, notes = read_run(run), read_notes(run)
    counts = parameter_counts(trial.recipe, read_config(find_backbone(trial.recipe.backbone))[0])
    steps, tokens = steps_and_tokens(run)
    size = sum(path.stat().st_size for path in (run / "model").rglob("*") if path.is_file())
    spent = (notes.get("seconds", about["seconds"]), steps, tokens)
    cost = TrialCost(*spent, counts["total"], counts["trainable"], notes.get("memory", 0.0), size)
    where = str(run.relative_to(comparison))
    return TrialResult(
        trial.key, trial.label, trial.recipe.seed, "finished", "", about["scores"], about["overall"], cost, where
    )


def read_result(run: Path) -> TrialResult | None:
    """What a finished cell says of itself: written whole, so it is also there if the table of results is lost."""
    try:
        found = json.loads((run / "result.json").read_text(encoding="utf-8"))
        return TrialResult(**found | {"cost": TrialCost(**found["cost"])})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{run / 'result.json'}: is no result.", "Remove this folder: it is trained again.") from None


def read_notes(run: Path) -> dict[str, float]:
    try:
        notes: dict[str, float] = json.loads((run / "notes.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return notes


def wait_until_free(run: Path) -> None:
    end = time.monotonic() + PATIENCE
    while run.is_dir() and is_locked(run) and time.monotonic() < end:
        time.sleep(0.2)


def most_memory() -> int:
    """Bytes of this process at its largest; 0 on Windows, where Python cannot ask."""
    try:
        import resource
    except ImportError:
        return 0
    # Linux counts in KiB, macOS in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Orphaned:
    """Asks a training to stop and save when the process that started it is gone, or a signal came."""

    def __init__(self, parent: int) -> None:
        """`parent`: told, since it may be gone before this process can look."""
        self.parent = parent
        self.signal: int | None = None

    def __call__(self) -> int | None:
        # on Windows the number of a parent that is gone stays
        parent = multiprocessing.parent_process()
        gone = os.getppid() != self.parent or (parent is not None and not parent.is_alive())
        return signal.SIGTERM if gone else self.signal

    def note(self, number: int, frame: object) -> None:
        self.signal = number
