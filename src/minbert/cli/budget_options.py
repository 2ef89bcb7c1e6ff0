"""Options that say how long a trial of a comparison or of a search trains."""

from typing import Annotated

import typer

TrialBudgetOption = Annotated[
    str | None, typer.Option("--budget", help="Training time per trial: 90s, 10m, 1h.", show_default=False)
]
TrialExamplesOption = Annotated[
    int | None,
    typer.Option(
        "--examples",
        min=1,
        help="Training examples per trial. Default: as many as the baseline reads in its whole training.",
        show_default=False,
    ),
]
FullOption = Annotated[bool, typer.Option("--full", help="Train every recipe to its own end.")]
TrialStepsOption = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="Training steps per trial, instead of --budget.", show_default=False),
]
