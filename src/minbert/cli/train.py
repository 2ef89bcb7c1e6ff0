"""minbert train: recipe and labelled files in, one trained model out."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minbert.cli.console import command_line, console, errors, plain, score_table
from minbert.cli.interrupts import Stopping, saved_and_stopped
from minbert.cli.options import DataRoot, Force, Keep, Profile, RecipeName, SaveEvery, Set, SkipBadRows
from minbert.cli.training_progress import watch

if TYPE_CHECKING:
    from minbert.runs.events import Event


def train(
    recipe: RecipeName,
    out: Annotated[Path, typer.Option("--out", help="The directory of the run; made by this command.")],
    data_root: DataRoot = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Use this seed instead of the recipe's.")] = None,
    skip_bad_rows: SkipBadRows = False,
    save_every: SaveEvery = "10m",
    keep: Keep = 2,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, which was interrupted, if it is this recipe.")
    ] = False,
    profile: Profile = False,
    force: Force = False,
) -> None:
    """Train one model on all tasks of a recipe.

    Everything is checked before training starts. The run directory keeps the recipe as resolved, the scores of
    every epoch, learning curves (curves.png, and TensorBoard events), the dev predictions and the best model.
    Ctrl-C saves the step it is at: `minbert resume RUN` goes on from there, to the same result.

    Example: minbert train baseline --data-root data --out runs/baseline
    """
    from minbert.config.loading import read_recipe
    from minbert.runs.checkpoint import CheckpointInterval
    from minbert.runs.run import resume_run, start_run

    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    chosen = read_recipe(recipe, overrides)
    console.print(f"[bold]{plain(recipe)}[/] on {plain(chosen.backbone)}: {', '.join(chosen.tasks)}")
    every = CheckpointInterval.parse(save_every, keep)

    def events(stop_requested: Stopping) -> "Iterator[Event]":
        if resume:
            return resume_run(
                out,
                chosen,
                data_root=data_root,
                profile=profile,
                every=every,
                stop_requested=stop_requested,
                command=command_line(),
            )
        return start_run(
            chosen,
            out,
            data_root=data_root,
            skip_bad_rows=skip_bad_rows,
            force=force,
            profile=profile,
            every=every,
            stop_requested=stop_requested,
            command=command_line(),
        )

    follow(out, events)


def follow(out: Path, events: "Callable[[Stopping], Iterator[Event]]") -> None:
    """Show a training to its end, or to the signal that stops it."""
    from minbert.runs.directory import read_run
    from minbert.runs.events import Stopped

    stop_requested = Stopping()
    try:
        finished = watch(events(stop_requested), stop_requested)
    except Stopped as stopped:
        saved_and_stopped(out, stopped.step)
        raise typer.Exit(128 + stopped.signal) from None
    except (KeyboardInterrupt, SystemExit):
        errors.print(f"Stopped at once. `minbert resume {out}` goes on from the last checkpoint.", markup=False)
        raise
    if finished.stopped_early:
        console.print("Stopped early: the last evaluations brought nothing better.")
    console.print(score_table(finished.scores, finished.overall))
    where = plain(shlex.quote(str(out)))
    name, task = next(iter(read_run(out)["recipe"]["tasks"].items()))
    texts = " ".join(['"..."'] * len(task["task"]["text"]))
    console.print(f"The model is in {where}. Ask it:  minbert predict {where} {name} {texts}")
