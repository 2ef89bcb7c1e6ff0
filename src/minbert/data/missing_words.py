"""Words in a label column -> whether they mean that there is no label, as pandas reads them.

N/A, NaN and NULL always do. The others depend on the rest of the column: `-` is missing among numbers, NA is not
(North America) among EU and US, and None is not among Mild and Severe.
"""

from collections.abc import Collection

ALWAYS = frozenset({"n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null"})
AMONG_NUMBERS = frozenset({"na", "none", "-", "--", "?", "."})
MISSING_WORDS = ALWAYS | AMONG_NUMBERS


def may_be_missing(value: object) -> bool:
    return isinstance(value, str) and len(value) < 20 and value.strip().lower() in MISSING_WORDS


def means_missing(word: str, others: Collection[str], are_numbers: bool) -> bool:
    """`others`: the values of the column that are none of these words."""
    if are_numbers or word.lower() in ALWAYS:
        return True
    if word.lower() == "na":
        return not (others and all(other.isupper() for other in others))
    return word == "None" and bool(others) and not any(other[:1].isupper() for other in others)
