"""The columns of a file -> those of the labels, and for each whether it is a class or a score."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from minbert.data.column_names import names_id, names_label, names_score
from minbert.data.column_profile import ColumnProfile, FileProfile
from minbert.data.column_request import check_columns
from minbert.data.label_errors import no_label_twice, not_numbers, one_label, several_labels
from minbert.data.label_order import USUAL_RANGES, label_value, order_labels, score_range
from minbert.data.labels import as_number
from minbert.data.odd_values import odd_values, odd_values_error
from minbert.data.unclear_columns import unclear_columns
from minbert.errors import UserError

Kind = Literal["classify", "score"]
# whole numbers with more different values than this are scores, unless they count labels from 0 or 1
MOST_CLASSES_OF_NUMBERS = 10
MOST_CLASSES = 500
FEWEST_FILLED = 0.05
LEADING_ZERO = re.compile(r"0\d+")


def find_labels(found: FileProfile, text: Sequence[str], given: Sequence[str], kind: str) -> tuple[list[str], str]:
    """The names of the label columns, and the reason."""
    if given:
        here = [name for name in given if name in found.columns]
        check_columns(found.path, [] if here else given, list(found.columns), found.description)
        return here, "named by --label"
    others = [column for column in found.columns.values() if column.name not in text]
    several = [column for column in others if holds_several(column) and column.lists + column.distinct > 1]
    odd = [column for column in others if kind != "classify" and odd_values(column)]
    usable = [column for column in others if column not in (*several, *odd) and may_be_label(column)]
    # a column that is filled now and then is learned only if it is named
    usable = [column for column in usable if column.filled >= FEWEST_FILLED * found.rows]
    named = [column.name for column in usable if names_label(column.name)]
    if named:
        return named, "by its name"
    for column in (*several, *odd):
        if names_label(column.name) or not usable:
            what = odd_values(column) if column in odd else None
            raise odd_values_error(found, column, what) if what else several_labels(found, column)
    if len(usable) == 1:
        return [usable[0].name], "the only column with values that repeat"
    if not usable:
        raise no_labels(found, others)
    names = ", ".join(column.name for column in usable)
    raise unclear_columns(found, f"{len(usable)} columns may be the label: {names}")


def no_labels(found: FileProfile, others: Sequence[ColumnProfile]) -> UserError:
    constant = [column for column in others if column.distinct == 1 and not column.lists]
    named = [column for column in constant if names_label(column.name)]
    if named or len(constant) == len(others) == 1:
        return one_label(found, (named or constant)[0])
    return unclear_columns(found, "no column of labels or scores was found")


def may_be_label(column: ColumnProfile) -> bool:
    """Whether the values are scores, or few enough to be classes."""
    if column.distinct < 2 or column.lists or names_id(column.name):
        return False
    if column.is_number:
        counter = column.repeats == 1 and not column.fractions and column.high - column.low == column.filled - 1
        return not (counter and column.filled > MOST_CLASSES_OF_NUMBERS) and not (
            column.overflow and not names_label(column.name)
        )
    few = column.distinct <= MOST_CLASSES and (column.repeats >= 2 or (names_label(column.name) and column.repeats > 1))
    return few and column.mean_words < 6


def holds_several(column: ColumnProfile) -> bool:
    """Whether a value is a list of labels: a JSON array, ["a", "b"] as text, or a|b|c."""
    if column.lists:
        return True
    if column.is_number or column.overflow or not column.counts or odd_values(column):
        return False
    total = sum(column.counts.values())
    if sum(n for key, n in column.counts.items() if key[:1] == "[" and key[-1:] == "]") > total / 2:
        return True
    return any(is_joined(column.counts, separator) for separator in "|;,")


def is_joined(counts: dict[str, int], separator: str) -> bool:
    """Whether values are made of a few pieces that recur in other values."""
    joined = [key for key in counts if separator in key]
    if sum(counts[key] for key in joined) < 0.05 * sum(counts.values()) or len(joined) < 2:
        return False
    pieces = [[piece.strip() for piece in key.split(separator)] for key in counts]
    different = {piece for each in pieces for piece in each}
    short = all(len(piece.split()) <= 3 for piece in different)
    return short and len(different) < (len(counts) if separator == "|" else len(counts) / 2)


def kind_of_label(column: ColumnProfile, given: str, paired: bool) -> tuple[Kind, str]:
    """Whether the label is a class or a score, and the reason."""
    if given == "classify" or (not given and not column.is_number):
        return "classify", "named by --kind" if given else "words, not numbers"
    if given:
        return "score", "named by --kind"
    if any(LEADING_ZERO.fullmatch(key) for key in column.counts):
        return "classify", "codes with leading zeros; for scores, use --kind score"
    if column.distinct <= 2:
        return "classify", "two different values"
    if column.fractions:
        return "score", "numbers with fractions"
    if names_score(column.name) and paired:
        return "score", "its name says that the numbers are scores"
    if column.distinct <= MOST_CLASSES_OF_NUMBERS:
        return "classify", f"only {column.distinct} different whole numbers; for scores, use --kind score"
    counted = column.low in (0, 1) and column.high - column.low == column.distinct - 1 and column.repeats >= 2
    if counted and column.distinct <= MOST_CLASSES and not is_scale(column):
        return "classify", f"{column.distinct} whole numbers without gaps; for scores, use --kind score"
    return "score", f"{column.different}, all of them whole numbers; for classes, use --kind classify"


def is_scale(column: ColumnProfile) -> bool:
    """Whether whole numbers end where scales end, and the name says nothing against it."""
    return column.high in (10, 20, 100) and not {"label", "class", "category", "intent"} & set(
        column.name.lower().split("_")
    )


def range_reason(column: ColumnProfile, low: float, high: float) -> str:
    """The values, and why the range is wider."""
    values = f"the values go from {column.low:g} to {column.high:g}"
    if (low, high) == (column.low, column.high):
        return values
    if (low, high) in USUAL_RANGES:
        return f"{values}, and {low:g} to {high:g} is the smallest usual scale with them"
    return f"{values}, rounded outwards"


def label_settings(found: FileProfile, column: ColumnProfile, kind: Kind) -> tuple[dict[str, Any], str]:
    """`labels` or `range` of a task, and the reason."""
    if holds_several(column):
        raise several_labels(found, column)
    if kind == "score":
        # fewer that are no numbers are bad rows, which can be skipped
        if column.numbers <= column.filled / 2:
            raise not_numbers(found, column)
        low, high = score_range(column.low, column.high)
        return {"range": [low, high]}, range_reason(column, low, high)
    if column.distinct == 1:
        raise one_label(found, column)
    if column.overflow or not 2 <= column.distinct <= MOST_CLASSES:
        raise UserError(
            f"{found.path}: column '{column.name}' has {column.different}; a classify task needs 2 to {MOST_CLASSES}.",
            "Name another column with --label" + (", or use --kind score." if column.is_number else "."),
        )
    if column.repeats == 1:
        raise no_label_twice(found, column)
    keys, why = order_labels(column.counts)
    if column.is_number:
        numbers = {key: number for key in keys if (number := as_number(key)) is not None}
        keys, why = sorted(numbers, key=numbers.__getitem__), "in numeric order"
    texts = [column.spellings.texts[key] for key in keys]
    values = [label_value(text) for text in texts]
    # 01 and "10", not 01 and 10
    labels = texts if any(isinstance(value, str) for value in values) else values
    return {"labels": labels}, why or "in alphabetical order"
