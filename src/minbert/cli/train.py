"""minbert train: a recipe and labeled files -> one trained model."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from minbert.cli.console import command_line, console, escape_markup, score_table, shell_path
from minbert.cli.interrupts import StopSignal, show_stopped, show_stopped_at_once
from minbert.cli.options import (
    DataRootOption,
    ForceOption,
    KeepOption,
    ProfileOption,
    RecipeArgument,
    ResumeRunOption,
    SaveEveryOption,
    SeedOption,
    SetOption,
    SkipBadRowsOption,
    TrainOutOption,
)
from minbert.cli.training_progress import watch_training

if TYPE_CHECKING:
    from minbert.runs.events import Event, Finished


def train(
    recipe: RecipeArgument,
    out: TrainOutOption,
    data_root: DataRootOption = None,
    set_: SetOption = None,
    seed: SeedOption = None,
    skip_bad_rows: SkipBadRowsOption = False,
    save_every: SaveEveryOption = "10m",
    keep: KeepOption = 2,
    resume: ResumeRunOption = False,
    profile: ProfileOption = False,
    force: ForceOption = False,
) -> None:
    """Train one model on all tasks of a recipe.

    Everything is checked before training starts. The run directory holds the resolved recipe, the scores of every
    epoch, learning curves (curves.png and TensorBoard events), the dev predictions and the best model. Ctrl-C saves
    the current step; `minbert resume RUN` continues from there, with the same result.

    Example: minbert train baseline --data-root data --out runs/baseline
    """
    from minbert.config.loading import read_recipe
    from minbert.runs.checkpoint import CheckpointInterval
    from minbert.runs.run import resume_run, start_run

    chosen = read_recipe(recipe, [*(set_ or []), *([] if seed is None else [f"seed={seed}"])])
    console.print(f"[bold]{escape_markup(recipe)}[/] on {escape_markup(chosen.backbone)}: {', '.join(chosen.tasks)}")
    every = CheckpointInterval.parse(save_every, keep)
    if resume:
        events = partial(resume_run, out, chosen, data_root=data_root, profile=profile, every=every)
    else:
        new = partial(start_run, chosen, out, skip_bad_rows=skip_bad_rows, force=force)
        events = partial(new, data_root=data_root, profile=profile, every=every)
    train_to_end(out, lambda stop_signal: events(stop_requested=stop_signal, command=command_line()))


def train_to_end(out: Path, events: "Callable[[StopSignal], Iterator[Event]]") -> None:
    """Show a training run until it ends, or until a signal stops it."""
    from minbert.runs.events import Stopped

    stop_signal = StopSignal()
    try:
        finished = watch_training(events(stop_signal), stop_signal)
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

    if finished.stopped_early:
        console.print("Stopped early: the dev score no longer improved.")
    console.print(score_table(finished.scores, finished.overall))
    where = shell_path(out)
    name, task = next(iter(read_run(out)["recipe"]["tasks"].items()))
    texts = " ".join(['"..."'] * len(task["task"]["text"]))
    console.print(f"The model is in {where}. Try it:  minbert predict {where} {name} {texts}")
