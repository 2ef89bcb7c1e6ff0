"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, Literal

import typer

RecipeName = Annotated[str, typer.Argument(help="A recipe file, or the name of a shipped one (`minbert recipes`).")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run, made by `minbert train`.")]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", envvar="MINBERT_DATA", help="Where the tasks' files are.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: --set stages.0.epochs=3. May be repeated."),
]
SkipBadRows = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave bad rows out and count them.")]
Precision = Annotated[
    Literal["auto", "fp32", "bf16"],
    typer.Option(help="What the encoder computes in. auto: bf16 where this machine multiplies it fast, else fp32."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
SaveEvery = Annotated[
    str, typer.Option(metavar="STEPS|MINUTES", help="Write a checkpoint this often: 200 (steps), 10m, or 90s.")
]
Keep = Annotated[int, typer.Option(min=1, help="How many checkpoints to keep; the newest.")]
Profile = Annotated[
    bool, typer.Option("--profile", help="Also write where the time of a step goes: profile.txt, profile.json.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier call wrote there.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Trainings at once; what suits this machine if left out.", show_default=False),
]
