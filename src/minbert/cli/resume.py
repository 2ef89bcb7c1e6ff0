"""minbert resume: continue an interrupted run."""

from functools import partial

from minbert.cli.console import console, escape_markup
from minbert.cli.options import DataRootOption, KeepOption, ProfileOption, RunArgument, SaveEveryOption
from minbert.cli.train import train_to_end


def resume(
    run: RunArgument,
    data_root: DataRootOption = None,
    save_every: SaveEveryOption = "10m",
    keep: KeepOption = 2,
    profile: ProfileOption = False,
) -> None:
    """Resume an interrupted or killed run from its last checkpoint.

    The result is the same as without the interruption: weights, data order, dropout and all other training state are
    restored. A run whose recipe, data or backbone has changed cannot be resumed.

    Example: minbert resume runs/baseline
    """
    from minbert.data.source import DataSource
    from minbert.runs.run import resume_run

    console.print(f"[bold]{escape_markup(run)}[/]")
    begin = partial(resume_run, run, source=DataSource(data_root), profile=profile)
    train_to_end(run, begin, (save_every, keep))
