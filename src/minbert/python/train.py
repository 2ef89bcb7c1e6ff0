"""Data in memory or in files -> a trained `Run`, or the events of its training."""

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from minbert.cli.data_files import show_found
from minbert.cli.interrupts import StopSignal, resume_hint
from minbert.cli.outcome_table import show_task_outcomes
from minbert.cli.training_progress import watch_training
from minbert.config.loading import recipe_from_files
from minbert.config.recipe import Recipe
from minbert.data.infer_task import FoundData
from minbert.data.source import DataSource
from minbert.errors import UserError
from minbert.python.options import as_overrides, budget_seconds, in_python, python_words
from minbert.python.run import Run
from minbert.python.run_data import Choices, RunData, find_data
from minbert.runs.directory import check_new_directory
from minbert.runs.events import Event, Stopped
from minbert.runs.fit import StopRequest
from minbert.runs.run import never_stop, start_run

# for all data, or {name: ...}
PerTask = str | Sequence[str] | Mapping[str, Any] | None


def train(
    data: Any,
    out: str | Path,
    *,
    text: PerTask = None,
    label: PerTask = None,
    kind: PerTask = None,
    keep_na: bool = False,
    backbone: str | Path | None = None,
    seed: int | None = None,
    budget: str | float | None = None,
    recipe: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    strict: bool = False,
    skip_bad_rows: bool = False,
    progress: Literal["bar"] | None = "bar",
) -> Run:
    """Train one model on your data: `minbert.train({"stars": df}, out="runs/stars")`.

    `data`: {task: rows}, or rows alone. Rows are a pandas or polars DataFrame, a list of dicts, a Hugging Face Dataset,
    the path of a file, or a tuple (train, dev) or (train, dev, test) or a DatasetDict of these. Columns, kind and the
    order of labels are found, as by `minbert train FILE`; `text`, `label` and `kind` override what was found, for all
    data or as {task: ...}. `keep_na`: strings such as "N/A" are labels, not missing. `settings`:
    {"optimizer.learning_rate": 1e-4}. `budget`: a time limit for the whole run, such as "10m". `force` replaces an
    older run in `out`.
    `progress=None` shows nothing.
    """
    if progress not in ("bar", None):
        raise UserError(f"progress is 'bar' or None, not {progress!r}.")
    overrides = as_overrides(settings, backbone=backbone, seed=seed)
    options = StartOptions(force, strict, skip_bad_rows, budget_seconds(budget))
    with python_words():
        planned = plan_training(data, Path(out), Choices(text, label, kind, keep_na), recipe, overrides, options)
        if progress == "bar":
            show_training(planned)
        else:
            for _ in planned.events():
                pass
    return Run(out)


def train_events(
    data: Any,
    out: str | Path,
    *,
    text: PerTask = None,
    label: PerTask = None,
    kind: PerTask = None,
    keep_na: bool = False,
    backbone: str | Path | None = None,
    seed: int | None = None,
    budget: str | float | None = None,
    recipe: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    strict: bool = False,
    skip_bad_rows: bool = False,
) -> Iterator[Event]:
    """The training of `minbert.train` as an iterator: Started, then Step, Measuring and Evaluated, at last Finished."""
    overrides = as_overrides(settings, backbone=backbone, seed=seed)
    options = StartOptions(force, strict, skip_bad_rows, budget_seconds(budget))
    with python_words():
        planned = plan_training(data, Path(out), Choices(text, label, kind, keep_na), recipe, overrides, options)
        yield from planned.events()


@dataclass(frozen=True)
class StartOptions:
    """The options of `start_run` that a user can set."""

    force: bool = False
    strict: bool = False
    skip_bad_rows: bool = False
    # seconds
    budget: float | None = None


@dataclass(frozen=True)
class PlannedTraining:
    """A recipe for the tasks that were found, before anything is trained."""

    recipe: Recipe
    out: Path
    found: list[FoundData]
    stored: RunData
    options: StartOptions

    def events(self, stop_requested: StopRequest = never_stop) -> Iterator[Event]:
        try:
            yield from start_run(
                self.recipe,
                self.out,
                source=DataSource(None, self.options.skip_bad_rows),
                force=self.options.force,
                strict=self.options.strict,
                budget=self.options.budget,
                own_files=self.stored.files,
                stop_requested=stop_requested,
            )
        finally:
            self.stored.discard_unless_used()


def plan_training(
    data: Any,
    out: Path,
    choices: Choices,
    recipe: str | Path | None,
    overrides: Sequence[str],
    options: StartOptions,
) -> PlannedTraining:
    """Write what is in memory into files, find the tasks, and make a recipe for them."""
    check_new_directory(out, options.force)
    stored = RunData(out)
    try:
        found = find_data(data, stored, choices)
        tasks = {task.name: {"task": task.settings} for each in found for task in each.tasks}
        made = recipe_from_files(tasks, "the data", None if recipe is None else str(recipe), overrides)
    except BaseException:
        stored.discard_unless_used()
        raise
    return PlannedTraining(made, out, found, stored, options)


def show_training(planned: PlannedTraining) -> None:
    """Show what was found, a progress bar, and the scores. Ctrl-C saves everything before it stops."""
    for data in planned.found:
        data.notes = [in_python(note) for note in data.notes]
        for task in data.tasks:
            task.reasons = {setting: in_python(why) for setting, why in task.reasons.items()}
    show_found(planned.found)
    stop_signal = StopSignal()
    # only the main thread receives signals
    listens = threading.current_thread() is threading.main_thread()
    try:
        finished = watch_training(planned.events(stop_signal), stop_signal if listens else None)
    except Stopped as stopped:
        if stopped.signal != signal.SIGINT:
            raise SystemExit(128 + stopped.signal) from None
        raise KeyboardInterrupt(
            f"Stopped after step {stopped.step:,}; everything is saved. {resume_hint(planned.out)}"
        ) from None
    show_task_outcomes(finished.outcomes, finished.overall)
