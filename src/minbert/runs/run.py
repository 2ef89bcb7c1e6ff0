"""recipe -> run: train, measure, keep the best, write it all down; and go on with a run that was interrupted."""

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.config.task import Files
from minbert.data.metrics import overall
from minbert.encoder.device import matrix_rate
from minbert.errors import UserError
from minbert.files import write_json
from minbert.inference.saved_model import load_model
from minbert.runs import directory
from minbert.runs.checkpoint import load_newest_checkpoint
from minbert.runs.curves import draw_curves
from minbert.runs.events import Event, Finished, Started, Stopped
from minbert.runs.fit import Fit, SaveEvery, StopRequest, scoring_of
from minbert.training.prepare import Prepared, prepare

EVERY_TEN_MINUTES = SaveEvery()


def nobody() -> int | None:
    """Nobody asks the training to stop."""
    return None


def start_run(
    recipe: Recipe,
    out: Path,
    *,
    data_root: Path | None = None,
    skip_bad_rows: bool = False,
    force: bool = False,
    measure_before: bool = False,
    profile: bool = False,
    every: SaveEvery = EVERY_TEN_MINUTES,
    stop_requested: StopRequest = nobody,
) -> Iterator[Event]:
    """Train a recipe into a run directory. Mistakes stop before the directory is made or touched.

    `asked` is looked at after each step: the number of a signal makes it save everything and raise Stopped.
    """
    directory.check_new_directory(out, force)
    ready = prepare(recipe, data_root, skip_bad_rows)
    about = directory.run_metadata(ready, skip_bad_rows)
    directory.create_run(out, about, force)
    with directory.lock_run(out):
        directory.write_recipe(out, ready)
        fit = Fit(ready, out, every, stop_requested)
        yield from to_the_end(fit, out, about, started(ready), profile, measure_before)


def resume_run(
    out: Path,
    recipe: Recipe | None = None,
    *,
    data_root: Path | None = None,
    profile: bool = False,
    every: SaveEvery = EVERY_TEN_MINUTES,
    stop_requested: StopRequest = nobody,
) -> Iterator[Event]:
    """Go on with a run from its last whole checkpoint, to the very result it would have had.

    `recipe`: what the user thinks it is; if it, the data or the backbone is another than the run's, it is refused.
    """
    about = directory.read_run(out)
    if not (out / "recipe.toml").is_file():
        raise UserError(f"{out}: was stopped before it began.", "Start it again with --force.")
    if "recipe" not in about:
        raise UserError(f"{out}: made by another version of minbert, which wrote down less.", "Start it again.")
    if about["state"] == "finished":
        raise UserError(f"{out}: this run is finished.", f"`minbert evaluate {out}` shows its scores.")
    with directory.lock_run(out):
        skip_bad_rows = bool(about.get("skip_bad_rows"))
        ready = prepare(recipe or read_recipe(str(out / "recipe.toml")), data_root, skip_bad_rows)
        now = directory.run_metadata(ready, skip_bad_rows)
        directory.check_same_run(out, about, now)
        for name, files in about["files"].items():
            # the model goes on saying where its data is as the recipe said it, not where it was found
            part = ready.model.task(name)
            part.task = replace(part.task, files=Files(**files))
        fit = Fit(ready, out, every, stop_requested)
        checkpoint, notes = load_newest_checkpoint(out / "checkpoints")
        if checkpoint is not None:
            fit.restore(checkpoint)
            notes.append(f"resuming from step {checkpoint.step}")
        else:
            notes.append("there is no checkpoint to go on from: it begins again")
        notes += directory.version_differences(about, now)
        about = now | {
            "files": about["files"],
            "started": about["started"],
            "resumed": [*about.get("resumed", []), now["started"]],
        }
        write_json(out / "run.json", about)
        yield from to_the_end(fit, out, about, started(ready, fit.loop.done, tuple(notes)), profile, False)


def to_the_end(
    fit: Fit, out: Path, about: dict[str, Any], begin: Started, profile: bool, measure_before: bool
) -> Generator[Event, None, None]:
    """What is left of the steps, the scores of the best model, and how it all ended in run.json."""
    began = time.monotonic()
    ready = fit.ready
    try:
        yield begin
        if measure_before:
            fit.before = yield from fit.measure(scoring_of(ready.model, ready.dev))
        early = yield from fit.go(profile)
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
    total = overall(scores, ready.tasks)
    # of a resumed run: since it was resumed
    result = {"state": "finished", "seconds": round(time.monotonic() - began, 1), "scores": scores, "overall": total}
    write_json(out / "run.json", about | result)
    directory.remove_checkpoints(out)
    before = fit.before
    yield Finished(scores, total, before, overall(before, ready.tasks) if before else 0.0, early)


def started(ready: Prepared, done: int = 0, notes: tuple[str, ...] = ()) -> Started:
    parts: Mapping[str, Any] = {name: (ready.train[name].examples, ready.dev[name].examples) for name in ready.tasks}
    config = ready.model.bert.config
    return Started(
        {name: (len(train_rows), len(dev_rows)) for name, (train_rows, dev_rows) in parts.items()},
        {name: sum(len(rows.skipped) for rows in both) for name, both in parts.items()},
        ready.model.counts(),
        ready.learning.steps,
        matrix_rate(config.hidden_size, config.intermediate_size, ready.model.bert.dtype, ready.model.device),
        done,
        notes,
    )
