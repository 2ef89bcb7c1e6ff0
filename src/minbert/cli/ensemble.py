"""minbert ensemble: several runs -> one model that averages their predictions."""

from minbert.cli.console import console, escape_markup, shell_path, show_hint, text_table
from minbert.cli.options import BestOption, EnsembleRunsArgument, ForceOption, MergedOutOption


def ensemble(
    runs: EnsembleRunsArgument, out: MergedOutOption, best: BestOption = False, force: ForceOption = False
) -> None:
    """Combine several runs into one model that averages their predictions.

    For each task, the runs that were trained on it are averaged. Prediction costs as much as all of them together;
    `distillation` in a recipe trains one model from an ensemble.

    Example: minbert ensemble runs/sst runs/quora runs/sts --out runs/all
    """
    from minbert.runs.merge import make_ensemble

    members = make_ensemble(runs, out, best=best, force=force)
    shown = text_table("task", "runs", wrap=("runs",))
    for name, paths in members.items():
        shown.add_row(name, escape_markup(", ".join(map(str, paths))))
    console.print(shown)
    show_hint(f"Evaluate it:  minbert evaluate {shell_path(out)}")
