"""Errors about a column that cannot be the label: one label, a label for each row, several labels in one row."""

import re

from minbert.data.column_profile import ColumnProfile, FileProfile
from minbert.data.unclear_columns import suggested_flags
from minbert.errors import UserError, cut_text


def several_labels(found: FileProfile, column: ColumnProfile) -> UserError:
    split = re.split(r"[|;,\[\]'\" ]+", next((key for key in column.counts if re.search(r"[|;,]", key)), column.sample))
    one = next((piece for piece in split if piece), "sports")
    return UserError(
        f"{found.path}: column '{column.name}' holds several labels in one row: {cut_text(column.sample)}\n"
        "Tasks with several labels in one row are not supported yet.",
        f"Write a column of 0 and 1 for each label, such as '{one}', and learn those that matter as several tasks: "
        f"--label {one} --label ...",
    )


def one_label(found: FileProfile, column: ColumnProfile) -> UserError:
    words = ", ".join(column.na)
    way_back = f" To learn {words} as a label instead of reading it as missing, use --keep-na." if words else ""
    return UserError(
        f"{found.path}: column '{column.name}' has only one label: {cut_text(column.sample.strip())}. "
        "A classify task needs at least two.",
        f"Add rows with other labels, or name another column with --label.{way_back}",
    )


def no_label_twice(found: FileProfile, column: ColumnProfile) -> UserError:
    flags = suggested_flags(found)
    swapped = f"--label {column.name}" not in flags and not flags.endswith("COLUMN")
    return UserError(
        f"{found.path}: column '{column.name}' has a different value in each of {column.filled:,} rows, such as "
        f"'{cut_text(column.sample.strip(), 60)}'; a label occurs in several rows.",
        f"Name the column of the labels, for example: {flags}"
        if swapped
        else "Add rows until each label has at least two, or name another column with --label.",
    )


def not_numbers(found: FileProfile, column: ColumnProfile) -> UserError:
    none = f"holds no numbers: {cut_text(column.sample)}"
    some = (
        f"holds numbers in only {column.numbers:,} of {column.filled:,} rows, and for example {cut_text(column.sample)}"
    )
    return UserError(
        f"{found.path}: column '{column.name}' {some if column.numbers else none}",
        "A score is a number. Use --kind classify, or name another column with --label.",
    )
