"""The names of compared recipes -> what tables call them: without folders and `.toml` where that is unique."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from minbert.comparison.results import ComparisonResults

RECIPE_FILE = ".toml"


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """papers/c-pals/pals -> pals; recipes/mine.toml -> mine. Labels that would be called the same stay whole."""
    short = {label: short_label(label) for label in labels}
    counts = Counter(short.values())
    return {label: each if counts[each] == 1 else label for label, each in short.items()}


def short_label(label: str) -> str:
    return label.replace("\\", "/").removesuffix(RECIPE_FILE).rpartition("/")[2] or label


def with_short_labels(results: ComparisonResults) -> ComparisonResults:
    """The same results under the short names, for tables."""
    short = short_labels([*(each.label for each in results.systems), *results.beside])
    return replace(
        results,
        baseline=short[results.baseline],
        systems=tuple(replace(each, label=short[each.label]) for each in results.systems),
        beside={short[label]: seeds for label, seeds in results.beside.items()},
    )
