"""One training run of a comparison, identified by its content -> its result, however often it is killed on the way."""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from minbert.comparison.results import TrialCost, TrialResult
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource, SplitName
from minbert.encoder.hub import find_backbone
from minbert.errors import UserError
from minbert.files import sha256
from minbert.runs.checkpoint import CheckpointInterval
from minbert.runs.directory import backbone_files, comparable_config, is_locked, read_run, resolved_config
from minbert.runs.events import Evaluated, Event, Started, Stopped
from minbert.runs.fit import StopRequest
from minbert.runs.metrics_log import last_logged_step
from minbert.runs.remaining_time import TrainingClock
from minbert.runs.run import resume_run, start_run
from minbert.training.loop import Step

# seconds between two checkpoints of a trial
CHECKPOINT_SECONDS = 120.0
# seconds to wait for the worker of a killed driver, which ends after its current step
LOCK_PATIENCE = 60.0

# called after each step and evaluation with the steps done, all steps, and an estimate of the remaining seconds
ReportProgress = Callable[[int, int, float | None], None]


@dataclass(frozen=True)
class Trial:
    """A recipe with its seed, shortened to the budget: everything that a training run depends on."""

    key: str
    label: str
    recipe: Recipe
    # whether bad rows are skipped is not part of the key: where it matters, a trial that does not has no result
    source: DataSource = DEFAULT_SOURCE
    # the command line of the comparison, for run.json; not part of the key either
    command: str = ""

    def title(self, name: str) -> str:
        """What is running. `name`: of the recipe."""
        return f"{name}, seed {self.recipe.seed}"

    def folder(self, comparison: Path) -> Path:
        return trial_folder(comparison, self.key)

    def train(self, comparison: Path, report_progress: ReportProgress, stop_requested: StopRequest) -> TrialResult:
        """Called by an engine, in a process of its own."""
        return train_trial(self, comparison, report_progress, stop_requested)


def make_trial(label: str, recipe: Recipe, source: DataSource = DEFAULT_SOURCE, command: str = "") -> Trial:
    return Trial(trial_content(recipe, source)[:20], label, recipe, source, command)


def trial_folder(comparison: Path, key: str) -> Path:
    return comparison / "trials" / key


def trial_content(recipe: Recipe, source: DataSource = DEFAULT_SOURCE) -> str:
    """A hash of the recipe, its data and its weights, wherever the files are."""
    tasks = recipe.read_tasks()
    table = comparable_config(resolved_config(recipe, tasks))
    splits: tuple[SplitName, ...] = ("train", "dev")
    files = [(task, split) for task in tasks.values() for split in splits if getattr(task.files, split)]
    data = [(task.name, split, file_sha256(source.locate(task, split))) for task, split in files]
    weights = [(path.name, file_sha256(path)) for path in backbone_files(find_backbone(recipe.backbone))]
    teachers = []
    for stage in table.get("stages", []):
        # a teacher counts by its weights, not by its path
        paths = stage.get("distillation", {}).pop("teachers", [])
        teachers += [[file_sha256(path) for path in sorted(Path(each).rglob("*.safetensors"))] for each in paths]
    # the order of the tasks decides which is drawn first, and in which order new parameters are created
    content = [table, list(tasks), data, weights, teachers]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """The hash of a file, computed again when its size or time of change is another."""
    state = path.stat()
    return sha256_of_version(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1024)
def sha256_of_version(path: Path, size: int, changed_ns: int) -> str:
    return sha256(path)


# ---- train --------------------------------------------------------------------------------------------


def train_trial(
    trial: Trial, comparison: Path, report_progress: ReportProgress, stop_requested: StopRequest
) -> TrialResult:
    """Train, resume, or only read the result. An error is a result too; Stopped is not."""
    run = trial.folder(comparison)
    try:
        done = read_result(comparison, trial.key, trial.label)
        if done is not None:
            return done
        if trial_content(trial.recipe, trial.source)[: len(trial.key)] != trial.key:
            raise UserError("its data or weights have changed since the comparison was started.")
        wait_until_unlocked(run)
        watch_trial(trial_events(trial, run, stop_requested), report_progress)
        done = read_result(comparison, trial.key, trial.label)
        assert done is not None
        return done
    except Stopped:
        raise
    except Exception as wrong:  # whatever it is, only this trial fails, and the others continue
        return failed_trial(trial, comparison, failure_reason(wrong))


def watch_trial(events: Iterator[Event], report_progress: ReportProgress) -> None:
    started = next(events)
    assert isinstance(started, Started)
    clock, last = TrainingClock(started.work, started.done), time.monotonic()
    report_progress(started.done, started.steps, None)
    for event in events:
        now = time.monotonic()
        clock.observe(event, now - last)
        last = now
        if isinstance(event, Step | Evaluated):
            report_progress(clock.step, started.steps, clock.remaining())


def failed_trial(trial: Trial, comparison: Path, reason: str) -> TrialResult:
    where = str(trial.folder(comparison).relative_to(comparison))
    return TrialResult(trial.key, trial.label, trial.recipe.seed, "failed", reason, run=where)


def failure_reason(wrong: BaseException) -> str:
    """Why it failed, and the next step where it is known."""
    if isinstance(wrong, UserError):
        return f"{wrong.problem} {wrong.next_step}".strip()
    return f"{type(wrong).__name__}: {wrong}"


def trial_events(trial: Trial, run: Path, stop_requested: StopRequest) -> Iterator[Event]:
    """The events of the remaining training: resumed, or started again where resuming is refused."""
    every = CheckpointInterval(seconds=CHECKPOINT_SECONDS)
    if (run / "run.json").is_file():
        events = resume_run(
            run,
            trial.recipe,
            source=trial.source,
            every=every,
            stop_requested=stop_requested,
            command=trial.command,
        )
        try:
            first = next(events)
        except UserError:
            # for example because a teacher is somewhere else now
            pass
        else:
            yield first
            yield from events
            return
    elif run.is_dir():
        # killed before it had written run.json; the folder belongs to the comparison
        shutil.rmtree(run)
    yield from start_run(
        trial.recipe,
        run,
        source=trial.source,
        force=True,
        every=every,
        controls=False,
        stop_requested=stop_requested,
        command=trial.command,
    )


def wait_until_unlocked(run: Path) -> None:
    end = time.monotonic() + LOCK_PATIENCE
    while run.is_dir() and is_locked(run) and time.monotonic() < end:
        time.sleep(0.2)


class StopWhenOrphaned:
    """Asks a trial to stop and save when the process that started it has ended, or when a signal has arrived."""

    def __init__(self, parent: int) -> None:
        """`parent`: passed in, since it may have ended before this process can ask."""
        self.parent = parent
        self.signal: int | None = None

    def __call__(self) -> int | None:
        # on Windows the number of a parent that has ended stays
        parent = multiprocessing.parent_process()
        ended = os.getppid() != self.parent or (parent is not None and not parent.is_alive())
        return signal.SIGTERM if ended else self.signal

    def note(self, number: int, frame: object) -> None:
        self.signal = number


# ---- read ---------------------------------------------------------------------------------------------


def read_result(comparison: Path, key: str, label: str) -> TrialResult | None:
    """The result of a finished trial, from the run.json that its training wrote; None if it is not finished."""
    run = trial_folder(comparison, key)
    if not (run / "run.json").is_file():
        return None
    try:
        about = read_run(run)
        if about.get("state") != "finished":
            return None
        cost = TrialCost(**about["cost"])
        where = str(run.relative_to(comparison))
        return TrialResult(key, label, about["seed"], "finished", "", about["scores"], about["overall"], cost, where)
    except (UserError, TypeError, KeyError) as wrong:
        raise UserError(
            f"{run / 'run.json'}: damaged, or from another version of minbert: {wrong}",
            "Remove this folder: the same `minbert compare` trains it again.",
        ) from None


def read_progress(comparison: Path, key: str) -> tuple[int, int] | None:
    """Steps done and all steps of a trial in training, from the files that it writes; None if it has not begun."""
    run = trial_folder(comparison, key)
    try:
        done = last_logged_step(run)
        return (done, read_run(run)["steps"]) if done else None
    except (UserError, OSError, KeyError):
        return None
