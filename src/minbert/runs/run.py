"""recipe -> run: train, score, keep the best model, and record everything; or resume an interrupted run."""

import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.config.task import Files
from minbert.data.overall_score import overall
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.device import matmul_flops_per_second
from minbert.files import write_json
from minbert.inference.saved_model import load_model
from minbert.runs import directory
from minbert.runs.checkpoint import CheckpointInterval, load_newest_checkpoint
from minbert.runs.cost import run_cost
from minbert.runs.curves import draw_curves
from minbert.runs.events import Event, Finished, Scores, Started, Stopped
from minbert.runs.fit import Fit, StopRequest, scoring_of
from minbert.training.prepare import Prepared, prepare

EVERY_TEN_MINUTES = CheckpointInterval()


def never_stop() -> int | None:
    """The StopRequest of a run that nothing asks to stop."""
    return None


def start_run(
    recipe: Recipe,
    out: Path,
    *,
    source: DataSource = DEFAULT_SOURCE,
    force: bool = False,
    measure_before: bool = False,
    profile: bool = False,
    every: CheckpointInterval = EVERY_TEN_MINUTES,
    stop_requested: StopRequest = never_stop,
    command: str = "",
) -> Iterator[Event]:
    """Train a recipe into a run directory. A user's error stops before the directory is created or touched.

    `stop_requested` is called after each step: if it returns a signal's number, everything is saved and Stopped raised.
    `command`: the command line that started the run, for run.json.
    """
    directory.check_new_directory(out, force)
    ready = prepare(recipe, source)
    about = directory.run_metadata(ready, source, command)
    directory.create_run(out, about, force)
    with directory.lock_run(out):
        directory.write_recipe(out, ready)
        fit = Fit(ready, out, every, stop_requested, {name: task.files for name, task in ready.tasks.items()})
        yield from run_to_end(fit, about, started_event(ready), profile, measure_before)


def resume_run(
    out: Path,
    recipe: Recipe | None = None,
    *,
    source: DataSource = DEFAULT_SOURCE,
    profile: bool = False,
    every: CheckpointInterval = EVERY_TEN_MINUTES,
    stop_requested: StopRequest = never_stop,
    command: str = "",
) -> Iterator[Event]:
    """Resume a run from its last complete checkpoint; the result is the same as without the interruption.

    `recipe`: the recipe that the user expects; refused if it, the data or the backbone differs from the run's.
    """
    about = directory.read_unfinished_run(out)
    with directory.lock_run(out):
        source = replace(source, skip_bad_rows=bool(about.get("skip_bad_rows")))
        ready = prepare(recipe or read_recipe(str(out / "recipe.toml")), source)
        now = directory.run_metadata(ready, source, command)
        directory.check_same_run(out, about, now)
        # the saved model names the files as the tasks did at the start, not where they were found
        files = {name: Files(**each) for name, each in about["files"].items()}
        fit = Fit(ready, out, every, stop_requested, files)
        notes = (*restore_newest_checkpoint(fit), *directory.version_differences(about, now))
        resumed = [*about.get("resumed", []), now["started"]]
        about = now | {"files": about["files"], "started": about["started"], "resumed": resumed}
        write_json(out / "run.json", about)
        yield from run_to_end(fit, about, started_event(ready, fit.loop.done, notes), profile, False)


def restore_newest_checkpoint(fit: Fit) -> list[str]:
    """Continue from the newest complete checkpoint, if there is one; returns notes on what was found."""
    checkpoint, notes = load_newest_checkpoint(fit.out / "checkpoints")
    if checkpoint is None:
        return [*notes, "there is no checkpoint to resume from: training starts again"]
    fit.restore(checkpoint)
    return [*notes, f"resuming from step {checkpoint.step}"]


def run_to_end(
    fit: Fit, about: dict[str, Any], begin: Started, profile: bool, measure_before: bool
) -> Generator[Event, None, None]:
    """The remaining steps, the scores of the best model, and the outcome in run.json."""
    began = time.monotonic()
    ready, out = fit.ready, fit.out
    try:
        yield begin
        if measure_before:
            fit.before = yield from fit.measure(scoring_of(ready.model, ready.dev))
        stopped_early = yield from fit.go(profile)
        draw_curves(out)
        model, _ = load_model(out, ready.recipe.precision)
        (out / "predictions").mkdir(exist_ok=True)
        scores = yield from fit.measure(scoring_of(model, ready.dev, out / "predictions"))
    except BaseException as wrong:
        if isinstance(wrong, Stopped):
            fit.save()
        stopped = isinstance(wrong, KeyboardInterrupt | GeneratorExit | SystemExit | Stopped)
        state = "interrupted" if stopped else "failed"
        write_json(out / "run.json", about | {"state": state, "reason": str(wrong) or type(wrong).__name__})
        raise
    # of a resumed run: since it was resumed
    result = finished_result(fit, scores) | {"seconds": round(time.monotonic() - began, 1)}
    write_json(out / "run.json", about | result)
    directory.remove_checkpoints(out)
    before = fit.before
    before_overall = overall(before, ready.tasks, ready.recipe.overall) if before else 0.0
    yield Finished(scores, result["overall"], before, before_overall, stopped_early)


def finished_result(fit: Fit, scores: Scores) -> dict[str, Any]:
    """What run.json says of a finished run: everything that a comparison needs to know about it."""
    ready = fit.ready
    cost = run_cost(fit.out, ready.recipe, ready.model.bert.config, fit.seconds, fit.peak_memory())
    total = overall(scores, ready.tasks, ready.recipe.overall)
    return {"state": "finished", "scores": scores, "overall": total, "cost": cost}


def started_event(ready: Prepared, done: int = 0, notes: tuple[str, ...] = ()) -> Started:
    datasets = {name: (ready.train[name].dataset, ready.dev[name].dataset) for name in ready.tasks}
    config = ready.model.bert.config
    return Started(
        {name: (len(train), len(dev)) for name, (train, dev) in datasets.items()},
        {name: sum(len(dataset.skipped) for dataset in both) for name, both in datasets.items()},
        ready.model.counts(),
        ready.setup.steps,
        matmul_flops_per_second(
            config.hidden_size, config.intermediate_size, ready.model.bert.dtype, ready.model.device
        ),
        done,
        notes,
    )
