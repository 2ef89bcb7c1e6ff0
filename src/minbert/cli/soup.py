"""minbert soup: several runs -> one model with the mean of their weights."""

from minbert.cli.console import shell_path, show_hint
from minbert.cli.options import ForceOption, MergedOutOption, SoupRunsArgument


def soup(runs: SoupRunsArgument, out: MergedOutOption, force: ForceOption = False) -> None:
    """Average the weights of several runs into one model, which costs no more than one of them.

    Example: minbert soup runs/seed-0 runs/seed-1 runs/seed-2 --out runs/soup
    """
    from minbert.runs.merge import make_soup

    make_soup(runs, out, force)
    where = shell_path(out)
    show_hint(f"The average of {len(runs)} models is in {where}.\nEvaluate it:  minbert evaluate {where}")
