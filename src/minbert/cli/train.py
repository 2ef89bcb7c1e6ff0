"""minbert train: recipe and labelled files in, one trained model out."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from minbert.cli.options import DataRoot, Force, RecipeName, Set, SkipBadRows
from minbert.cli.screen import console, errors, plain, score_table
from minbert.cli.watch import watch


def train(
    recipe: RecipeName,
    out: Annotated[Path, typer.Option("--out", help="The directory of the run; made by this command.")],
    data_root: DataRoot = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Use this seed instead of the recipe's.")] = None,
    skip_bad_rows: SkipBadRows = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Also write where the time of a step goes: profile.txt, profile.json.")
    ] = False,
    force: Force = False,
) -> None:
    """Train one model on all tasks of a recipe.

    Everything is checked before training starts. The run directory keeps the recipe as resolved, the scores of
    every epoch, learning curves (curves.png, and TensorBoard events), the dev predictions and the best model.

    Example: minbert train baseline --data-root data --out runs/baseline
    """
    from minbert.recipe import read_recipe
    from minbert.run import start_run

    overrides = [*(set_ or []), *([] if seed is None else [f"seed={seed}"])]
    chosen = read_recipe(recipe, overrides)
    console.print(f"[bold]{plain(recipe)}[/] on {plain(chosen.backbone)}: {', '.join(chosen.tasks)}")
    events = start_run(chosen, out, data_root=data_root, skip_bad_rows=skip_bad_rows, force=force, profile=profile)
    try:
        finished = watch(events)
    except (KeyboardInterrupt, SystemExit):
        kept = (out / "model").is_dir()
        errors.print(
            "Stopped. " + (f"The best model so far is in {out}." if kept else "No epoch had ended: no model was kept."),
            markup=False,
        )
        raise
    if finished.stopped_early:
        console.print("Stopped early: the last evaluations brought nothing better.")
    console.print(score_table(finished.scores, finished.overall))
    where = plain(shlex.quote(str(out)))
    name, task = next(iter(chosen.read_tasks().items()))
    texts = " ".join(['"..."'] * len(task.text))
    console.print(f"The model is in {where}. Ask it:  minbert predict {where} {name} {texts}")
