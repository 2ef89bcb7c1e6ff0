"""A label column whose values are neither labels nor numbers as they stand: percentages, dates, and 1,000."""

import re
from typing import Literal

from minbert.data.column_profile import ColumnProfile, FileProfile
from minbert.data.labels import THOUSANDS_COMMA, as_number
from minbert.errors import UserError

Odd = Literal["percentages", "dates", "thousands"]
PERCENTAGE = re.compile(r"[+-]?\d+([.,]\d+)?\s*%")
DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ].*)?")
# a few different percentages or dates may be classes
MOST_CLASSES_OF_ODD = 10
NEARLY_ALL = 0.95


def odd_values(column: ColumnProfile) -> Odd | None:
    """What nearly all values are, if they are odd."""
    if column.is_number or not column.counts:
        return None
    if column.distinct > MOST_CLASSES_OF_ODD:
        for odd, pattern in ODD_PATTERNS.items():
            if share(column, pattern) >= NEARLY_ALL:
                return odd
    plain = sum(rows for key, rows in column.counts.items() if as_number(key) is not None)
    thousands = share(column, THOUSANDS_COMMA)
    return "thousands" if thousands and thousands + plain / sum(column.counts.values()) >= NEARLY_ALL else None


ODD_PATTERNS: dict[Odd, re.Pattern[str]] = {"percentages": PERCENTAGE, "dates": DATE}


def share(column: ColumnProfile, pattern: re.Pattern[str]) -> float:
    """The fraction of the rows whose values match."""
    return sum(rows for key, rows in column.counts.items() if pattern.fullmatch(key)) / sum(column.counts.values())


def odd_values_error(found: FileProfile, column: ColumnProfile, odd: Odd) -> UserError:
    patterns = {**ODD_PATTERNS, "thousands": THOUSANDS_COMMA}
    value = next(key for key in column.counts if patterns[odd].fullmatch(key))
    classes = " To learn them as classes, use --kind classify." if column.repeats >= 2 else ""
    if odd == "percentages":
        what, how = "percentages", f"Write them as numbers: {value.rstrip('% ')} for {value}."
    elif odd == "dates":
        what, how = "dates", "Name another column with --label."
    else:
        what = "numbers that may be thousands or may have a decimal comma"
        how = f"Write {value.replace(',', '')} or {value.replace(',', '.', 1)} instead of {value}."
    return UserError(f"{found.path}: column '{column.name}' holds {what}: {value}.", how + classes)
