"""Comparison results -> which recipes do not clearly beat what costs nothing, in few sentences."""

from collections.abc import Callable, Sequence

from minbert.comparison.results import ComparisonResults, Control
from minbert.report.sentences import join_names, measure_name, measures_in_order, quoted

# so many are named as "no recipe" if it is true of all
MANY_RECIPES = 3


def control_sentences(results: ComparisonResults) -> tuple[str, ...]:
    """What is not beaten, what is not clearly beaten; or that everything is."""
    found = (*not_beaten_sentences(results), *unclear_sentences(results))
    complete = all(set(each.scores) == set(results.measures) for each in results.controls)
    if found or not results.controls or not complete:
        return found
    kinds = " and ".join(dict.fromkeys(each.kind for each in results.controls))
    return (f"Every recipe is clearly better than {kinds} on every measure.",)


def not_beaten_sentences(results: ComparisonResults) -> tuple[str, ...]:
    said = []
    for labels, measures, others in group_recipes(results, Control.not_beaten_by):
        verb = "does not beat" if len(labels) == 1 else "do not beat"
        subject = "No recipe beats" if is_every_recipe(labels, results) else f"{all_quoted(labels)} {verb}"
        said.append(f"{subject} {others} {measures}.")
    return tuple(said)


def unclear_sentences(results: ComparisonResults) -> tuple[str, ...]:
    said = []
    for labels, measures, others in group_recipes(results, Control.unclear_for):
        verb = "is not clearly" if len(labels) == 1 else "are not clearly"
        subject = "No recipe is clearly" if is_every_recipe(labels, results) else f"{all_quoted(labels)} {verb}"
        said.append(f"{subject} better than {others} {measures} (the corrected interval includes 0).")
    return tuple(said)


def group_recipes(
    results: ComparisonResults, concerned: Callable[[Control, str], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], str, str]]:
    """(recipes, "in measures", controls) of each sentence. `concerned`: the recipes, for a control and a measure."""
    measures: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for kind in dict.fromkeys(each.kind for each in results.controls):
        for measure in measures_in_order(results):
            # of each kind, a recipe has one control
            names = {label for each in results.controls if each.kind == kind for label in concerned(each, measure)}
            labels = tuple(each.label for each in results.systems if each.label in names)
            if labels:
                measures.setdefault((kind, labels), []).append(measure_name(measure))
    kinds: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (kind, labels), found in measures.items():
        kinds.setdefault((labels, tuple(found)), []).append(kind)
    return [(labels, in_measures(found, results), " or ".join(each)) for (labels, found), each in kinds.items()]


def in_measures(names: Sequence[str], results: ComparisonResults) -> str:
    if 1 < len(names) == len(measures_in_order(results)):
        return "on any measure"
    return f"in {join_names(names, most=len(names))}"


def is_every_recipe(labels: Sequence[str], results: ComparisonResults) -> bool:
    return len(labels) >= MANY_RECIPES and len(labels) == sum(bool(each.summaries) for each in results.systems)


def all_quoted(labels: Sequence[str]) -> str:
    """However many: a recipe that does not beat a control is named."""
    return join_names([quoted(label) for label in labels], most=len(labels))


# ---- names and method ---------------------------------------------------------------------------------


def control_name(control: Control, results: ComparisonResults) -> str:
    """In tables: with its recipes where others have another one."""
    name = control.kind.removeprefix("the ")
    alone = [each.kind for each in results.controls].count(control.kind) == 1
    return name if alone else f"{name} of {join_names(control.labels)}"


def controls_text(results: ComparisonResults) -> str:
    if not results.controls:
        return ""
    return (
        "The constant answer is the most frequent label of the training rows, or their mean score, for every row. The "
        "untrained backbone is a linear model on its mean vectors as they were before any training, for pairs on "
        "|u − v|, u × v and their cosine, fitted on up to 5,000 training rows. Both predict all dev rows once, so they "
        "are the same for every seed. Every recipe is compared with both on every measure. The p values of these "
        "differences are corrected among themselves with Holm's method, not with those between recipes. A recipe does "
        "not beat a control if its mean is not above it; it is not clearly better if the corrected interval includes 0."
    )
