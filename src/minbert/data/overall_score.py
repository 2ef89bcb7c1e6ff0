"""The scores of all tasks -> one number for a model."""

from collections.abc import Mapping

import numpy as np

from minbert.config.overall_terms import DeclaredOverall, OverallTerm, overall_terms, split_measure
from minbert.config.task import Task
from minbert.data.metrics import direction


def overall(
    scores: Mapping[str, Mapping[str, float]], tasks: Mapping[str, Task], declared: DeclaredOverall | None = None
) -> float:
    """The weighted mean of the declared terms; of each task's main metric where none are declared.

    Tasks without scores do not count. Metrics where lower is better count as negative.
    """
    if not scores:
        return 0.0
    return weighted_overall(scores, overall_terms(declared or {}, {name: tasks[name] for name in scores}))


def weighted_overall(scores: Mapping[str, Mapping[str, float]], terms: Mapping[str, OverallTerm]) -> float:
    """sum(weight x value) / sum(weight)."""
    weights = [term.weight for term in terms.values()]
    values = [term.weight * counted_value(scores, measure, term) for measure, term in terms.items()]
    return float(np.sum(values) / np.sum(weights))


def counted_value(scores: Mapping[str, Mapping[str, float]], measure: str, term: OverallTerm) -> float:
    """The value of one term: above is always better."""
    task, metric = split_measure(measure)
    value = scores[task][metric]
    return direction(metric) * ((value + 1) / 2 if term.transform == "zero_to_one" else value)


def describe_overall(terms: Mapping[str, OverallTerm]) -> str:
    """As a formula: (sst.accuracy + 2 × (sts.pearson + 1) / 2) / 3."""
    said = ""
    for measure, term in terms.items():
        value = f"({measure} + 1) / 2" if term.transform == "zero_to_one" else measure
        weighted = value if term.weight == 1 else f"{term.weight:g} × {value}"
        lower = direction(split_measure(measure)[1]) < 0
        said += f" {'-' if lower else '+'} {weighted}" if said else f"{'-' if lower else ''}{weighted}"
    total = sum(term.weight for term in terms.values())
    return said if total == 1 else f"({said}) / {total:g}"
