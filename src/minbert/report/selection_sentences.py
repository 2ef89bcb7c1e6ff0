"""Comparison results -> which rows chose the models, in words."""

from minbert.comparison.results import WHOLE, ComparisonResults
from minbert.data.validation_split import MOST_VALIDATION_ROWS
from minbert.report.sentences import join_names, quoted

DEV_ROWS_CHOSE = "The dev rows that are scored also chose the models"
VALIDATION_ROWS_CHOSE = "Validation rows, held out of the training rows, chose the models; the dev rows only measure"


def selection_sentence(results: ComparisonResults) -> str:
    """Empty where it is not known, as for predictions of other tools."""
    fractions = results.validation
    by_dev = [quoted(label) for label, fraction in fractions.items() if not fraction]
    if not fractions:
        return ""
    if by_dev:
        return f"{DEV_ROWS_CHOSE}{'' if len(by_dev) == len(fractions) else f' of {join_names(by_dev)}'}."
    low, high = (f"{100 * each:.3g}" for each in (min(fractions.values()), max(fractions.values())))
    parts = low if low == high else f"{low} to {high}"
    return (
        f"{VALIDATION_ROWS_CHOSE} ({parts} % of the training rows of each task, at most about "
        f"{MOST_VALIDATION_ROWS:,})."
    )


def choosing_rows(results: ComparisonResults) -> str:
    """The rows of the learning curves."""
    fractions = results.validation.values()
    kind = "dev" if not any(fractions) else "validation" if all(fractions) else "validation or dev"
    sample = "" if results.budget == WHOLE else "a sample of "
    return f"{sample}the {kind} rows that choose the model to keep (the tables use all dev rows)"
