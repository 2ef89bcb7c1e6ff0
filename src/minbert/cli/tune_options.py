"""The types of the options that only `minbert tune` has, with their help texts."""

from pathlib import Path
from typing import Annotated, Literal

import typer

OverOption = Annotated[
    list[str],
    typer.Option(
        "--over",
        metavar="KEY=VALUES",
        help="Setting and values to try: epochs=2,4,8. With --trials also a range: epochs=2..9. Repeatable.",
    ),
]
TuneOutOption = Annotated[
    Path, typer.Option("--out", help="Directory of the search. Finished trials in it are reused.")
]
FoldsOption = Annotated[
    int, typer.Option("--folds", min=2, help="Folds of the training rows that each setting is trained and scored on.")
]
SampledTrialsOption = Annotated[
    int | None,
    typer.Option(
        "--trials", min=1, help="Sample this many settings instead of trying all combinations.", show_default=False
    ),
]
SamplerOption = Annotated[
    Literal["random", "tpe"] | None,
    typer.Option(
        "--sampler",
        help="How --trials chooses settings: random, or tpe, which learns from earlier trials. Default: tpe.",
        show_default=False,
    ),
]
HalvingOption = Annotated[
    bool,
    typer.Option(
        "--halving", help="Successive halving: train all settings briefly, and the best third three times as long."
    ),
]
