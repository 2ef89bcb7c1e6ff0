"""recipe -> run: train, score, keep the best model, and record everything; or resume an interrupted run."""

import sys
import time
from collections.abc import Collection, Generator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from minbert.config.loading import read_recipe
from minbert.config.recipe import Recipe
from minbert.config.task import Files
from minbert.data.leaks import refuse_leaks
from minbert.data.overall_score import overall
from minbert.data.rejects import count_reasons
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.device import matmul_flops_per_second
from minbert.files import write_json
from minbert.runs import directory
from minbert.runs.checkpoint import CheckpointInterval, load_newest_checkpoint
from minbert.runs.cost import run_cost
from minbert.runs.data_findings import examine_data
from minbert.runs.events import Event, Finished, Started, Stopped
from minbert.runs.finish import FinalScores, finish
from minbert.runs.fit import Fit, StopRequest
from minbert.runs.leaked_scores import scores_without_leaks
from minbert.runs.planned_work import plan_work
from minbert.runs.time_plan import TimeLimit, TimePlan, plan_time
from minbert.training.explained_choices import explain_choices, explain_chosen_lengths
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
    strict: bool = False,
    controls: bool = True,
    profile: bool = False,
    budget: float | None = None,
    every: CheckpointInterval = EVERY_TEN_MINUTES,
    stop_requested: StopRequest = never_stop,
    command: str = "",
    own_files: Collection[Path] = (),
    curves: bool = True,
) -> Iterator[Event]:
    """Train a recipe into a run directory. A user's error stops before the directory is created or touched.

    `stop_requested` is called after each step: if it returns a signal's number, everything is saved and Stopped raised.
    `command`: the command line that started the run, for run.json. `strict`: refuse dev rows that are training rows.
    `own_files`: data files that were written into the directory for this run. `budget`: seconds for the whole run;
    training is shortened so that everything fits. `curves`: whether to write curves.png and events for TensorBoard.
    """
    began = time.monotonic()
    directory.check_new_directory(out, force, own_files)
    ready = prepare(recipe, source)
    if strict:
        refuse_leaks(*examine_data(ready).all_leaks)
    limit = time_limit(ready, budget, began, controls, recipe.selection.patience)
    whole = ready.setup.steps
    ready = ready if limit is None else limit.plan.shorten(ready)
    about = directory.run_metadata(ready, source, command) | plan_record(limit, whole, controls)
    directory.create_run(out, about, force, own_files)
    with directory.lock_run(out):
        directory.write_recipe(out, ready)
        files = {name: task.files for name, task in ready.tasks.items()}
        fit = Fit(ready, out, every, stop_requested, files, limit, curves)
        started = started_event(ready, limit, notes=budget_notes(ready, limit, whole))
        begin = replace(started, settings=chosen_for(recipe, ready))
        yield from run_to_end(fit, about, begin, profile, controls)


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
    began = time.monotonic()
    about = directory.read_unfinished_run(out)
    with directory.lock_run(out):
        source = replace(source, skip_bad_rows=bool(about.get("skip_bad_rows")))
        ready = prepare(recipe or read_recipe(str(out / "recipe.toml")), source)
        limit = TimeLimit(TimePlan(**about["budget"]), began) if "budget" in about else None
        whole = ready.setup.steps
        ready = ready if limit is None else limit.plan.shorten(ready)
        controls = bool(about.get("measures_controls"))
        now = directory.run_metadata(ready, source, command) | plan_record(limit, whole, controls)
        directory.check_same_run(out, about, now)
        # the saved model names the files as the tasks did at the start, not where they were found
        files = {name: Files(**each) for name, each in about["files"].items()}
        fit = Fit(ready, out, every, stop_requested, files, limit)
        notes = (*restore_newest_checkpoint(fit), *directory.version_differences(about, now))
        resumed = [*about.get("resumed", []), now["started"]]
        kept = {"files": about["files"], "started": about["started"]}
        about = now | kept | {"resumed": resumed}
        write_json(out / "run.json", about)
        yield from run_to_end(fit, about, started_event(ready, limit, fit.loop.done, notes), profile, controls)


def restore_newest_checkpoint(fit: Fit) -> list[str]:
    """Continue from the newest complete checkpoint, if there is one; returns notes on what was found."""
    checkpoint, notes = load_newest_checkpoint(fit.out / "checkpoints")
    if checkpoint is None:
        return [*notes, "there is no checkpoint to resume from: training starts again"]
    fit.restore(checkpoint)
    return [*notes, f"resuming from step {checkpoint.step}"]


def run_to_end(
    fit: Fit, about: dict[str, Any], begin: Started, profile: bool, controls: bool
) -> Generator[Event, None, None]:
    """The remaining steps, the scores of the kept model, and the outcome in run.json."""
    began = time.monotonic()
    out = fit.out
    try:
        yield replace(begin, warnings=tuple(fit.examined.warnings), findings=tuple(fit.examined.findings))
        stopped_early = yield from fit.go(profile, controls)
        final = yield from finish(fit, about.get("planned_steps"))
    except BaseException as wrong:
        # whoever stops listening can resume; at the end of the process it is too late to write tensors
        if isinstance(wrong, Stopped) or (isinstance(wrong, GeneratorExit) and not sys.is_finalizing()):
            fit.save()
        stopped = isinstance(wrong, KeyboardInterrupt | GeneratorExit | SystemExit | Stopped)
        state = "interrupted" if stopped else "failed"
        write_json(out / "run.json", about | {"state": state, "reason": str(wrong) or type(wrong).__name__})
        raise
    # of a resumed run: since it was resumed
    result = finished_result(fit, final)
    result |= {"seconds": round(time.monotonic() - began, 1)}
    out_of_time = stopped_early and fit.patient
    if fit.limit is not None:
        result |= {"used_seconds": round(fit.limit.used(), 1), "out_of_time": out_of_time}
    write_json(out / "run.json", about | result)
    directory.remove_checkpoints(out)
    leaked = fit.examined.leaks.counts
    yield Finished(
        final.scores,
        result["overall"],
        stopped_early,
        final.outcomes,
        leaked,
        scores_without_leaks(final.leaks),
        out_of_time,
        fit.kept_step,
    )


def finished_result(fit: Fit, final: FinalScores) -> dict[str, Any]:
    """What run.json says of a finished run: everything that a comparison needs to know about it."""
    ready = fit.ready
    cost = run_cost(fit.out, ready.recipe, ready.model.bert.config, fit.seconds, fit.peak_memory())
    total = overall(final.scores, ready.tasks, ready.recipe.overall)
    return {"state": "finished", "kept_step": fit.kept_step, **final.as_record(), "overall": total, "cost": cost}


def time_limit(
    ready: Prepared, budget: float | None, began: float, controls: bool, patience: int | None
) -> TimeLimit | None:
    """None without a budget. `patience`: that of the recipe as the user wrote it."""
    return None if budget is None else TimeLimit(plan_time(ready, budget, began, controls, patience), began)


def plan_record(limit: TimeLimit | None, whole: int, controls: bool) -> dict[str, Any]:
    """For run.json. `whole`: steps without the limit; `controls`: whether the controls are measured."""
    budget = {} if limit is None else {"budget": asdict(limit.plan), "planned_steps": whole}
    return {"measures_controls": controls} | budget


def budget_notes(ready: Prepared, limit: TimeLimit | None, whole: int) -> tuple[str, ...]:
    """What the time limit changes; `whole`: steps without it."""
    if limit is None:
        return ()
    steps, rows = ready.setup.steps, limit.plan.eval_rows
    part = "the whole training fits" if steps >= whole else f"{steps:,} of {whole:,} steps fit"
    kind = ready.recipe.selection.chosen_on
    scored = f"all {kind} rows" if rows is None else f"at most {rows:,} {kind} rows of each task"
    return (f"budget of {limit.plan.seconds:g} s: {part}; evaluated on {scored} during training",)


def chosen_for(recipe: Recipe, ready: Prepared) -> tuple[str, ...]:
    """What was chosen for a recipe without stages."""
    if recipe.stages:
        return ()
    rows = {name: (len(split.dataset), len(ready.choosing[name].dataset)) for name, split in ready.train.items()}
    limits = {name: ready.model.task(name).max_length for name in rows}
    truncated = {name: float(split.encoded.truncated.mean()) for name, split in ready.train.items()}
    return (
        *explain_choices(ready.recipe, recipe.table, ready.tasks, rows),
        *explain_chosen_lengths(recipe.table, recipe.read_tasks(), limits, truncated),
    )


def started_event(ready: Prepared, limit: TimeLimit | None, done: int = 0, notes: tuple[str, ...] = ()) -> Started:
    # rows of a test file without a label are no loss for training
    datasets = {name: (ready.train[name].dataset, ready.dev[name].dataset) for name in ready.tasks}
    config = ready.model.bert.config
    return Started(
        {name: (len(train), len(dev)) for name, (train, dev) in datasets.items()},
        {name: sum(len(dataset.skipped) for dataset in each) for name, each in datasets.items()},
        ready.model.counts(),
        ready.setup.steps,
        matmul_flops_per_second(
            config.hidden_size, config.intermediate_size, ready.model.bert.dtype, ready.model.device
        ),
        plan_work(ready, None if limit is None else limit.plan.seconds - limit.used()),
        done,
        notes,
        skip_reasons={
            name: count_reasons(row for dataset in each for row in dataset.skipped) for name, each in datasets.items()
        },
        test_rows={name: len(split.dataset) for name, split in ready.test.items()},
        validation_rows={name: len(split.dataset) for name, split in ready.validation.items()},
    )
