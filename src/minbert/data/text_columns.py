"""The columns of a file -> those of the texts (one, or the two of a pair), and the reason."""

from collections.abc import Sequence

from minbert.data.column_names import named_pairs, names_id, names_label, names_text
from minbert.data.column_profile import ColumnProfile, FileProfile
from minbert.data.column_request import check_columns
from minbert.data.unclear_columns import shell_name, unclear_columns
from minbert.errors import UserError, cut_text

# words in the mean that make a column prose
PROSE_WORDS = 3
# the texts of one column are so many times longer than those of another: the other is a title or a name
MUCH_LONGER = 3


def find_text(found: FileProfile, given: Sequence[str]) -> tuple[list[str], str]:
    if given:
        check_columns(found.path, given, list(found.columns), found.description)
        return list(given), "named by --text"
    candidates = [column for column in found.columns.values() if is_prose(column)]
    if not candidates:
        candidates = short_texts(found)
    names = [column.name for column in candidates]
    for pair in named_pairs(list(found.columns)):
        if all(name in names or names_text(name) for name in pair):
            return list(pair), "a pair by their names"
    named = [column for column in candidates if names_text(column.name)] or candidates
    named = without_short(named)
    if len(named) == 1:
        return [named[0].name], reason_for(named[0], candidates)
    if len(named) == 2 and not any(names_text(column.name) for column in named):
        return [column.name for column in named], "a pair: two columns of prose"
    constant = [column for column in found.columns.values() if names_text(column.name) and column.distinct == 1]
    if not named and constant:
        raise same_texts(found, constant)
    if not named:
        raise unclear_columns(found, "no column of texts was found")
    raise unclear_columns(found, f"{len(named)} columns may be the text: {', '.join(column.name for column in named)}")


def is_prose(column: ColumnProfile) -> bool:
    """Whether a column has texts of several words that are not the same again and again."""
    varied = column.overflow or column.distinct >= 0.2 * column.filled or (column.distinct > 500)
    if not column.measured or column.is_number or not varied or column.lists > column.filled / 2:
        return False
    return column.mean_words >= PROSE_WORDS or (names_text(column.name) and column.mean_words >= 1)


def short_texts(found: FileProfile) -> list[ColumnProfile]:
    """For texts of a word or two: the column of strings with the most different values."""
    strings = [column for column in found.columns.values() if column.measured and not column.is_number]
    varied = [column for column in strings if column.repeats < 2 and not names_id(column.name)]
    varied = [column for column in varied if not names_label(column.name)]
    return varied if len(varied) == 1 else [column for column in varied if names_text(column.name)]


def without_short(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Without titles and names beside much longer texts."""
    longest = max((column.mean_characters for column in columns), default=0.0)
    return [column for column in columns if MUCH_LONGER * column.mean_characters > longest]


def reason_for(column: ColumnProfile, candidates: Sequence[ColumnProfile]) -> str:
    if len(candidates) == 1:
        return "the only column of texts" if not names_text(column.name) else "by its name and its texts"
    longest = max(candidates, key=lambda each: each.mean_characters) is column
    return "the longest texts" if longest else "by its name"


def same_texts(found: FileProfile, columns: Sequence[ColumnProfile]) -> UserError:
    names = "' and '".join(column.name for column in columns)
    return UserError(
        f"{found.path}: all rows have the same text in '{names}': {cut_text(columns[0].sample.strip())}",
        "There is nothing to learn from it. Name another column with --text, or another file.",
    )


def check_text(found: FileProfile, text: Sequence[str]) -> None:
    columns = [found.columns[name] for name in text]
    if all(column.distinct == 1 and column.filled > 1 and not column.missing for column in columns):
        raise same_texts(found, columns)
    for name, column in zip(text, columns, strict=True):
        if not column.filled and not column.na:
            filled = [other.name for other in columns if other.filled]
            raise UserError(
                f"{found.path}: column '{name}' is empty in all {found.rows:,} rows.",
                f"Use only the other column: --text {shell_name(filled[0])}."
                if filled
                else "Name another column with --text.",
            )
        if column.lists > column.filled / 2:
            raise UserError(
                f"{found.path}: column '{name}' holds lists or objects, not texts: {cut_text(column.sample)}",
                f"Name another column with --text, or a field of the object, as --text {name}.text.",
            )
