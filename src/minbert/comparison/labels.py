"""The names of compared recipes -> short labels, without folders and `.toml`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from minbert.comparison.results import ComparisonResults

RECIPE_FILE = ".toml"
# a label of other characters is text, although it may have a slash in it
PATH = re.compile(r"[\w./\\~:+=@-]+")


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """papers/c-pals/pals.toml -> pals; with as many folders as it takes to tell two labels apart."""
    parts = {label: label_parts(label) for label in dict.fromkeys(labels)}
    short: dict[str, str] = {}
    length = 0
    while len(short) < len(parts):
        length += 1
        found = {label: "/".join(parts[label][-length:]) for label in parts if label not in short}
        taken = [*short.values(), *found.values()]
        for label, name in found.items():
            if taken.count(name) == 1:
                short[label] = name
            elif length >= len(parts[label]):
                # nothing is left to add, as for "a" and "a.toml"
                short[label] = label
    return short


def label_parts(label: str) -> list[str]:
    if not PATH.fullmatch(label):
        return [label]
    parts = label.removesuffix(RECIPE_FILE).replace("\\", "/").split("/")
    return [part for part in parts if part not in ("", ".")] or [label]


def with_short_labels(results: ComparisonResults) -> ComparisonResults:
    """The same results under the short labels, for people; programs read the names as they were given."""
    short = short_labels([results.baseline, *(each.label for each in results.systems), *results.beside])
    return replace(
        results,
        title=rename(results.title, short),
        baseline=short[results.baseline],
        systems=tuple(replace(each, label=short[each.label]) for each in results.systems),
        beside={short[label]: seeds for label, seeds in results.beside.items()},
        caveats=tuple(rename(caveat, short) for caveat in results.caveats),
        validation={short[label]: fraction for label, fraction in results.validation.items()},
        controls=tuple(
            replace(
                each,
                labels=tuple(short[label] for label in each.labels),
                differences={short[label]: found for label, found in each.differences.items()},
            )
            for each in results.controls
        ),
    )


def rename(sentence: str, short: Mapping[str, str]) -> str:
    """The sentence with short labels; the longest first, because one may be part of another."""
    changed = sorted((label for label, name in short.items() if name != label), key=len, reverse=True)
    if not changed:
        return sentence
    found = "|".join(map(re.escape, changed))
    return re.sub(rf"(?<![\w/.-])({found})(?![\w/-])", lambda match: short[match[1]], sentence)
