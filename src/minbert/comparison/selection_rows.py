"""Which rows choose the models of a comparison: rows held out of training, so that dev rows measure what they did not
choose. Otherwise recipes whose scores vary more during training would gain more from the choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from minbert.comparison.results import TrialResult
from minbert.config.recipe import Recipe
from minbert.runs.directory import read_run

# of the training rows of each task
VALIDATION_FRACTION = 0.1


def with_validation_rows(recipe: Recipe) -> Recipe:
    """The recipe with validation rows, unless it says itself which rows choose."""
    if recipe.selection.validation_fraction is not None:
        return recipe
    return replace(recipe, selection=replace(recipe.selection, validation_fraction=VALIDATION_FRACTION))


def validation_fractions(done: Sequence[TrialResult], labels: Sequence[str], folder: Path) -> Mapping[str, float]:
    """By label, the fraction of the training rows that chose the models; 0: dev rows chose."""
    first = {each.label: read_run(folder / each.run)["recipe"]["selection"] for each in reversed(done)}
    return {label: first[label].get("validation_fraction", 0.0) for label in labels if label in first}
