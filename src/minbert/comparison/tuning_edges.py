"""Warnings where the best value of a setting is the smallest or the largest that was tried."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from minbert.comparison.search_space import Candidate, Dimension
from minbert.comparison.tuning_results import TuningResults, ordered_values

# of a range, on its own scale: so close to an end, the best value may lie beyond it
EDGE = 0.05


def edge_warnings(
    results: TuningResults, dimensions: Sequence[Dimension], is_valid: Callable[[Candidate], bool]
) -> Iterator[str]:
    """`is_valid`: whether a recipe can have these settings; nothing is said about limits that cannot be crossed."""
    if results.best is None:
        return
    best = results.best.candidate
    for each in dimensions:
        values = [each.low, each.high] if each.is_range else ordered_values(results.settings, each.path)
        if len(values) < 2:
            continue
        value = best.value_of(each.path)
        for word, comparative, (edge, inner) in (
            ("smallest", "smaller", values[:2]),
            ("largest", "larger", values[:-3:-1]),
        ):
            if is_at(value, edge, each) and is_valid(moved(best, each, beyond(edge, inner))):
                spoken = each.name.replace("_", " ")
                end = f"close to the {word} allowed" if each.is_range and value != edge else f"the {word} tried"
                yield f"The best {spoken} ({dict(best.settings)[each.path]}) is {end}; try {comparative} ones."


def is_at(value: float, edge: float, dimension: Dimension) -> bool:
    if not dimension.is_range or dimension.whole:
        return value == edge
    scale = math.log if dimension.log else float
    return abs(scale(value) - scale(edge)) <= EDGE * (scale(dimension.high) - scale(dimension.low))


def beyond(edge: float, inner: float) -> float:
    """The next value in the same direction: by the same factor if both are positive, else by the same distance."""
    return edge * min(2.0, max(0.5, edge / inner)) if edge > 0 and inner > 0 else edge + (edge - inner)


def moved(candidate: Candidate, dimension: Dimension, value: float) -> Candidate:
    whole = isinstance(candidate.value_of(dimension.path), int)
    written = str(math.floor(value)) if whole else repr(value)
    settings = {**dict(candidate.settings), dimension.path: written}
    return replace(candidate, settings=tuple(settings.items()))
