"""minbert train: recipe and labelled files in, one trained model out."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minbert.cli.options import DataRoot, Force, RecipeName, Set, SkipBadRows
from minbert.cli.screen import console, plain, progress, score_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minbert.run import Event, Finished


def train(
    recipe: RecipeName,
    out: Annotated[Path, typer.Option("--out", help="The directory of the run; made by this command.")],
    data_root: DataRoot = None,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Use this seed instead of the recipe's.")] = None,
    skip_bad_rows: SkipBadRows = False,
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
    events = start_run(chosen, out, data_root=data_root, skip_bad_rows=skip_bad_rows, force=force)
    finished = watch(events)
    if finished.stopped_early:
        console.print("Stopped early: the last evaluations brought nothing better.")
    console.print(score_table(finished.scores, finished.overall))
    where = plain(shlex.quote(str(out)))
    console.print(f'The model is in {where}. Ask it:  minbert predict {where} {next(iter(chosen.tasks))} "..."')


def watch(events: "Iterable[Event]") -> "Finished":
    """Show a training as it goes: a bar with estimate, speed and losses, and a line an epoch."""
    from minbert.run import Evaluated, Finished, Measuring, Started
    from minbert.trainer import Step

    losses: dict[str, float] = {}
    scores: dict[str, float] = {}
    tokens, spent, last = 0, 0.0, time.perf_counter()
    finished = None
    live = sys.stderr.isatty()
    with progress() as bar:
        training = bar.add_task("reading", total=None, note="")
        measuring = bar.add_task("measuring", total=None, note="", visible=False)
        for event in events:
            now = time.perf_counter()
            if isinstance(event, Started):
                bar.update(training, description="training", total=event.steps)
                for name, (train_rows, dev_rows) in event.rows.items():
                    left_out = f", {event.skipped[name]} left out" if event.skipped[name] else ""
                    bar.console.print(f"  {name}: {train_rows:,} rows to learn, {dev_rows:,} to measure{left_out}")
                count = sum(event.parameters.values())
                bar.console.print(f"  {count / 1e6:.1f}M parameters, {event.steps:,} steps")
            elif isinstance(event, Step):
                tokens += event.tokens
                spent += now - last
                for name, loss in event.losses.items():
                    # a running mean: single batches jump too much to be read
                    losses[name] = loss if name not in losses else 0.95 * losses[name] + 0.05 * loss
                # loss, and behind it the last dev score
                each = "  ".join(
                    f"{name} {loss:.3f}" + (f" ({scores[name]:.3f})" if name in scores else "")
                    for name, loss in losses.items()
                )
                bar.update(training, completed=event.number, note=f"{tokens / spent:,.0f} tokens/s  loss {each}")
                if not live and event.number % max(1, event.total // 20) == 0:
                    left = spent / event.number * (event.total - event.number)
                    note = f"{tokens / spent:,.0f} tokens/s, about {left:,.0f} s left, loss {each}"
                    bar.console.print(f"  step {event.number:,}/{event.total:,}: {note}")
            elif isinstance(event, Measuring):
                going = event.done < event.total
                bar.update(measuring, completed=event.done, total=event.total, visible=going)
            elif isinstance(event, Evaluated):
                scores = {name: next(iter(found.values())) for name, found in event.scores.items()}
                each = "  ".join(f"{name} {score:.3f}" for name, score in scores.items())
                mark = "  [green]best so far[/]" if event.best else ""
                bar.console.print(f"  step {event.step:,}: dev {each}  overall [bold]{event.overall:.3f}[/]{mark}")
            else:
                finished = event
            last = time.perf_counter()
    assert isinstance(finished, Finished)
    return finished
