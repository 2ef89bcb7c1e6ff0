"""Data in memory or in files -> a trained `Run`, or the events of its training."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from minbert.cli.console import console
from minbert.cli.data_files import show_found
from minbert.config.loading import recipe_from_files
from minbert.config.recipe import Recipe
from minbert.data.infer_task import FoundData
from minbert.data.source import DataSource
from minbert.python.choices import Choices
from minbert.python.options import budget_seconds, run_overrides, run_path, shows_progress
from minbert.python.run import Run
from minbert.python.run_data import RunData, find_data
from minbert.python.user_warning import warn_user
from minbert.python.watching import show_scores, train_to_finish, worded_events
from minbert.python.wording import in_python, python_words
from minbert.runs.directory import check_new_directory
from minbert.runs.events import Event
from minbert.runs.fit import StopRequest
from minbert.runs.run import never_stop, resume_run, start_run

# for all data, or {name: ...}
PerTask = str | int | Sequence[str | int] | Mapping[str, Any] | None


def train(
    data: Any,
    out: str | Path,
    *,
    text: PerTask = None,
    label: PerTask = None,
    kind: PerTask = None,
    metric: PerTask = None,
    keep_na: bool = False,
    backbone: str | Path | None = None,
    seed: int | None = None,
    budget: str | float | None = None,
    recipe: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    strict: bool = False,
    skip_bad_rows: bool = False,
    progress: Literal["bar"] | bool | None = "bar",
) -> Run:
    """Train one model on your data: `minbert.train({"stars": df}, out="runs/stars")`.

    data: {task: rows}, or rows alone: a DataFrame, a Dataset, a list of dicts or of tuples (text, label), a path, or
        (train, dev) or (train, dev, test) of these, or a DatasetDict.
    out: the directory of the run.
    text, label: the names of the columns, if those that are found are wrong; a list of two texts for pairs.
    kind: "classify" or "score"; metric: what chooses the best model, such as "f1". These four: for all, or {task: ...}.
    keep_na: strings such as "N/A" are labels, not missing values.
    backbone: the pretrained model: a directory, or a name that `minbert models` lists.
    seed: of all random numbers.
    budget: a time limit for the whole run: "10m", or seconds.
    recipe: train with the settings of this recipe instead of those that are chosen for the data.
    settings: other settings of a recipe by their path: {"optimizer.learning_rate": 1e-4}.
    force: replace an older run in `out`.
    strict: stop if a dev row is also a training row; skip_bad_rows: skip rows that cannot be read.
    progress: "bar" (lines in a notebook), or None to show nothing; problems of the data are then Python's warnings.
    """
    shown, overrides = shows_progress(progress), run_overrides(settings, backbone, seed)
    options = StartOptions(force, strict, skip_bad_rows, budget)
    planned = plan_training(data, out, Choices(text, label, kind, keep_na, metric), recipe, overrides, options)
    return finish_planned(planned, shown)


def finish_planned(planned: "PlannedTraining", shown: bool) -> Run:
    if shown:
        with console.worded(planned.in_words):
            show_found(planned.found, planned.stored.written)
    else:
        planned.warn()
    with python_words(planned.stored.in_words):
        finished = train_to_finish(planned.events, planned.out, shown, planned.in_words)
    if shown:
        show_scores(finished)
    return Run(planned.out)


def train_events(
    data: Any,
    out: str | Path,
    *,
    text: PerTask = None,
    label: PerTask = None,
    kind: PerTask = None,
    metric: PerTask = None,
    keep_na: bool = False,
    backbone: str | Path | None = None,
    seed: int | None = None,
    budget: str | float | None = None,
    recipe: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
    strict: bool = False,
    skip_bad_rows: bool = False,
) -> Generator[Event, None, None]:
    """The training of `minbert.train` as an iterator: Started, then Step, Measuring and Evaluated, at last Finished.

    The parameters are those of `minbert.train`. Everything is read and checked at the call. Leaving the loop saves the
    run, and `minbert.resume` continues it.
    """
    overrides = run_overrides(settings, backbone, seed)
    options = StartOptions(force, strict, skip_bad_rows, budget)
    planned = plan_training(data, out, Choices(text, label, kind, keep_na, metric), recipe, overrides, options)
    planned.warn()
    with python_words(planned.stored.in_words):
        events = worded_events(planned.events(), planned.in_words)
        return remaining_events(next(events), events, planned.stored)


def remaining_events(first: Event, rest: Iterator[Event], stored: RunData) -> Generator[Event, None, None]:
    # worded_events is a generator, whose type has no close()
    with closing(rest), python_words(stored.in_words):  # type: ignore[type-var]
        yield first
        yield from rest


def resume(run: str | Path, *, progress: Literal["bar"] | bool | None = "bar") -> Run:
    """Continue an interrupted run from its last checkpoint, with the same result as without the interruption.

    run: the directory of the run.
    progress: "bar", or None to show nothing.
    """
    path, shown = Path(run), shows_progress(progress)
    with python_words():
        finished = train_to_finish(lambda stop: resume_run(path, stop_requested=stop), path, shown)
    if shown:
        show_scores(finished)
    return Run(path)


@dataclass(frozen=True)
class StartOptions:
    """The options of `start_run` that a user can set."""

    force: bool = False
    strict: bool = False
    skip_bad_rows: bool = False
    budget: str | float | None = None


@dataclass(frozen=True)
class PlannedTraining:
    """A recipe for the tasks that were found, before anything is trained."""

    recipe: Recipe
    out: Path
    found: list[FoundData]
    stored: RunData
    options: StartOptions

    def in_words(self, message: str) -> str:
        return in_python(self.stored.in_words(message))

    def warn(self) -> None:
        """What is probably a mistake in the data, as warnings of Python."""
        for data in self.found:
            for warning in data.warnings:
                warn_user(self.in_words(warning))

    def events(self, stop_requested: StopRequest = never_stop) -> Iterator[Event]:
        try:
            yield from start_run(
                self.recipe,
                self.out,
                source=DataSource(None, self.options.skip_bad_rows),
                force=self.options.force,
                strict=self.options.strict,
                budget=budget_seconds(self.options.budget),
                own_files=self.stored.files,
                stop_requested=stop_requested,
            )
        finally:
            self.stored.discard_unless_used()


def plan_training(
    data: Any,
    out: str | Path,
    choices: Choices,
    recipe: str | Path | None,
    overrides: Sequence[str],
    options: StartOptions,
) -> PlannedTraining:
    """Write what is in memory into files, find the tasks, and make a recipe for them."""
    path = run_path(out)
    budget_seconds(options.budget)
    stored = RunData(path)
    with python_words(stored.in_words):
        check_new_directory(path, options.force)
        try:
            found = find_data(data, stored, choices)
            tasks = {task.name: {"task": dict(task.settings)} for each in found for task in each.tasks}
            made = recipe_from_files(tasks, "the data", None if recipe is None else str(recipe), overrides)
        except BaseException:
            stored.discard_unless_used()
            raise
    for task in (task for each in found for task in each.tasks):
        # what the user sets was not found
        changed = {key: value for key, value in tasks[task.name]["task"].items() if task.settings.get(key) != value}
        task.settings |= changed
        task.reasons |= dict.fromkeys(changed, "given in settings")
    return PlannedTraining(made, path, found, stored, options)
