"""minbert train: a recipe and labeled files -> one trained model."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from minbert.cli.compare import read_time_budget
from minbert.cli.console import command_line, console, escape_markup, shell_path, show_hint, show_lines
from minbert.cli.data_files import DataFlags, choose_recipe
from minbert.cli.interrupts import StopSignal, show_stopped, show_stopped_at_once
from minbert.cli.options import (
    DataRootOption,
    ForceOption,
    KeepNaOption,
    KeepOption,
    KindOption,
    LabelOption,
    MetricOption,
    ProfileOption,
    RecipeOrFilesArgument,
    ResumeRunOption,
    RunBudgetOption,
    SaveEveryOption,
    SeedOption,
    SetOption,
    SkipBadRowsOption,
    StrictOption,
    TaskLengthOption,
    TaskNameOption,
    TextOption,
    TrainOutOption,
    WithRecipeOption,
)
from minbert.cli.outcome_table import show_task_outcomes
from minbert.cli.score_lines import score_lines
from minbert.cli.training_progress import watch_training
from minbert.errors import UserError

if TYPE_CHECKING:
    from minbert.config.recipe import Recipe
    from minbert.data.source import DataSource
    from minbert.runs.events import Event, Finished


def train(
    given: RecipeOrFilesArgument,
    out: TrainOutOption,
    text: TextOption = None,
    label: LabelOption = None,
    kind: KindOption = None,
    keep_na: KeepNaOption = False,
    task: TaskNameOption = None,
    recipe: WithRecipeOption = None,
    metric: MetricOption = None,
    max_length: TaskLengthOption = None,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    seed: SeedOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    strict: StrictOption = False,
    budget: RunBudgetOption = None,
    save_every: SaveEveryOption = "10m",
    keep: KeepOption = 2,
    resume: ResumeRunOption = False,
    profile: ProfileOption = False,
    force: ForceOption = False,
) -> None:
    """Train one model on your files, or on all tasks of a recipe.

    The columns of data files, the kind of each task and the order of its labels are found, and shown with the reasons.
    x-train.csv and x-dev.csv belong together. Everything is checked before training starts. The run directory holds
    the resolved recipe, its tasks, the scores of every epoch, learning curves, the dev predictions and the best model.
    Ctrl-C saves the current step; `minbert resume RUN` continues from there, with the same result.

    Examples:
      minbert train reviews.csv --out runs/stars --budget 10m
      minbert train baseline --data-root data --out runs/baseline
    """
    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    flags = DataFlags(text, label, kind, task, recipe, metric, max_length, keep_na)
    chosen = choose_recipe(given, flags, overrides, stdin_for=out)
    show_start(given, chosen)
    begin = run_starter(chosen, out, budget, resume, force, strict)
    train_to_end(out, partial(begin, source=data_source(data_root, skip_bad_rows), profile=profile), (save_every, keep))


def show_start(given: list[str], chosen: "Recipe") -> None:
    names = escape_markup(", ".join(given))
    console.print(f"[bold]{names}[/] on {escape_markup(chosen.backbone)}: {', '.join(chosen.tasks)}")


def data_source(root: Path | None, skip_bad_rows: bool) -> "DataSource":
    from minbert.data.source import DataSource

    return DataSource(root, skip_bad_rows)


def run_starter(
    chosen: "Recipe", out: Path, budget: str | None, resume: bool, force: bool, strict: bool
) -> "Callable[..., Iterator[Event]]":
    """Start a new run, or resume the one in `out`."""
    from minbert.runs.run import resume_run, start_run

    seconds = None if budget is None else read_time_budget(budget)
    if not resume:
        return partial(start_run, chosen, out, force=force, strict=strict, budget=seconds)
    check_same_budget(out, seconds)
    return partial(resume_run, out, chosen)


def check_same_budget(out: Path, seconds: float | None) -> None:
    """A resumed run keeps its budget: its steps were planned for it."""
    from minbert.runs.directory import read_run

    own = read_run(out).get("budget", {}).get("seconds")
    if seconds is not None and seconds != own:
        before = "without a budget" if own is None else f"with a budget of {own:g} s"
        raise UserError(f"--budget: {out} was started {before}.", "Resume it without --budget.")


def train_to_end(out: Path, begin: "Callable[..., Iterator[Event]]", checkpoints: tuple[str, int]) -> None:
    """Show a training run until it ends, or until a signal stops it. `checkpoints`: how often, and how many to keep."""
    from minbert.runs.checkpoint import CheckpointInterval
    from minbert.runs.events import Stopped

    every, stop_signal = CheckpointInterval.parse(*checkpoints), StopSignal()
    try:
        events = begin(every=every, stop_requested=stop_signal, command=command_line())
        finished = watch_training(events, stop_signal)
    except Stopped as stopped:
        show_stopped(out, stopped.step)
        raise typer.Exit(128 + stopped.signal) from None
    except (KeyboardInterrupt, SystemExit):
        show_stopped_at_once(out)
        raise
    show_finished(out, finished)


def show_finished(out: Path, finished: "Finished") -> None:
    """The scores, and an example of `minbert predict`."""
    from minbert.runs.directory import read_run

    about = read_run(out)
    selection = about["recipe"]["selection"]
    rows = "validation" if selection.get("validation_fraction") else "dev"
    if finished.out_of_time:
        console.print("Stopped early: the time was up. The best model so far is kept.")
    elif finished.stopped_early:
        console.print(f"Stopped early: the {rows} score no longer improved.")
    if finished.outcomes and not finished.kept_step:
        console.print(
            f"No training step improved the {rows} score: the model is the untrained backbone with linear heads."
        )
    show_task_outcomes(finished.outcomes, finished.overall)
    if dev_rows_chose(selection, finished):
        show_hint("The dev rows also chose the model, which flatters it a little: a test file would tell.")
    records = (about.get(kind, {}) for kind in ("leaks", "test_leaks", "unseen_labels"))
    show_lines(score_lines(finished.outcomes, *records))
    where, tasks = shell_path(out), about["recipe"]["tasks"]
    reads = {name: len(task["task"]["text"]) for name, task in tasks.items() if name in finished.scores}
    name, count = next(iter(reads.items()))
    texts = " ".join(['"..."'] * count)
    show_hint(f"The model is in {where}. Try it:\n  minbert predict {where} {name} {texts}")
    if list(reads.values()).count(count) > 1:
        show_hint(f"  minbert predict {where} all {texts}")


def dev_rows_chose(selection: Mapping[str, Any], finished: "Finished") -> bool:
    """Whether the dev rows chose the model that they measure, and no test rows say more. `selection`: the recipe's."""
    chosen = selection["keep"] == "best" or "patience" in selection
    untested = any(each.test is None for each in finished.outcomes.values())
    return chosen and untested and not selection.get("validation_fraction")
