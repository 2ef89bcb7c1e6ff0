"""The label column of each file -> which rows of the test file have no label: GLUE and others write -1 there."""

from collections.abc import Mapping

from minbert.data.column_profile import ColumnProfile
from minbert.data.labels import as_number
from minbert.data.source import SplitName
from minbert.plural import plural

UNLABELED = "-1"


def set_unlabeled_aside(columns: Mapping[SplitName, ColumnProfile]) -> None:
    """Read -1 as missing in the test rows, if it is no label and no score of the training and dev rows."""
    test = columns.get("test")
    others = [column for role, column in columns.items() if role != "test"]
    if test is None or UNLABELED not in test.counts or any(may_have_minus_one(column) for column in others):
        return
    rows = test.counts.pop(UNLABELED)
    test.na[UNLABELED] = rows
    test.filled -= rows
    test.numbers -= rows
    numbers = [number for key in test.counts if (number := as_number(key)) is not None]
    test.low, test.high = min(numbers, default=float("inf")), max(numbers, default=float("-inf"))


def may_have_minus_one(column: ColumnProfile) -> bool:
    """Whether -1 may be a value: it is one, or there are other numbers below 0."""
    return UNLABELED in column.counts or (column.is_number and column.low < 0)


def describe_unlabeled(test: ColumnProfile, file: str) -> str:
    """A sentence about test rows that cannot be scored; nothing if all have a label."""
    lacking = test.missing + sum(test.na.values())
    if not lacking:
        return ""
    why = f"'{test.name}' is {UNLABELED}" if test.na.get(UNLABELED) == lacking else f"without a '{test.name}'"
    if not test.filled:
        return (
            f"{file}: all {plural(lacking, 'row')} are unlabeled ({why}), so there is no test score; "
            "predict them with `minbert predict --input`"
        )
    rows = "1 row is" if lacking == 1 else f"{lacking:,} rows are"
    return f"{file}: {rows} unlabeled ({why}) and not scored; {test.filled:,} are"
