"""minbert resume: go on with a run that was interrupted."""

from minbert.cli.console import command_line, console, plain
from minbert.cli.options import DataRoot, Keep, Profile, RunFolder, SaveEvery
from minbert.cli.train import follow


def resume(
    run: RunFolder,
    data_root: DataRoot = None,
    save_every: SaveEvery = "10m",
    keep: Keep = 2,
    profile: Profile = False,
) -> None:
    """Go on with a run that was interrupted or killed, from its last checkpoint.

    The result is the very one that the run would have had: weights, order of the data, dropout and everything else
    that training remembers is restored. A run whose recipe, data or backbone has changed since is refused.

    Example: minbert resume runs/baseline
    """
    from minbert.runs.checkpoint import CheckpointInterval
    from minbert.runs.run import resume_run

    console.print(f"[bold]{plain(run)}[/]")
    every = CheckpointInterval.parse(save_every, keep)
    follow(
        run,
        lambda stop_requested: resume_run(
            run,
            data_root=data_root,
            profile=profile,
            every=every,
            stop_requested=stop_requested,
            command=command_line(),
        ),
    )
