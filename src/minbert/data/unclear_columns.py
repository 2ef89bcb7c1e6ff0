"""The columns of a file, with examples, for someone who must say which of them to use."""

from minbert.data.column_names import names_id, names_text
from minbert.data.column_profile import ColumnProfile, FileProfile
from minbert.errors import UserError
from minbert.plural import plural

WIDEST_NAME = 24
WIDEST_SAMPLE = 28


def unclear_columns(found: FileProfile, problem: str) -> UserError:
    """The error that shows the columns and the flags that choose from them."""
    lines = [
        f"{found.path}: {problem}.",
        f"It has {plural(found.rows, 'row')} ({found.description}) and these columns:",
    ]
    width = min(WIDEST_NAME, max(len(name) for name in found.columns)) if found.columns else 0
    lines += [column_line(column, width) for column in found.columns.values()]
    how = f"Say which columns to use, for example: {suggested_flags(found)}"
    return UserError("\n".join(lines), f"{how} (--text twice for pairs, --label again for more tasks)")


def column_line(column: ColumnProfile, width: int) -> str:
    sample = " ".join(column.sample.split())
    shown = sample if len(sample) <= WIDEST_SAMPLE else f"{sample[: WIDEST_SAMPLE - 3]}..."
    empty = f", {column.missing:,} empty" if column.missing else ""
    return f"  {column.name:<{width}}  {shown:<{WIDEST_SAMPLE}}  {column.different}{empty}"


def suggested_flags(found: FileProfile) -> str:
    """Flags that may be right: the longest texts, and another column with few different values."""
    columns = [column for column in found.columns.values() if not names_id(column.name)]
    by_length = sorted(columns, key=lambda column: (names_text(column.name), column.mean_characters), reverse=True)
    text = by_length[0].name if by_length else "COLUMN"
    others = [column for column in columns if column.name != text and column.repeats > 1]
    others.sort(key=lambda column: -column.repeats)
    return f"--text {shell_name(text)} --label {shell_name(others[0].name) if others else 'COLUMN'}"


def shell_name(name: str) -> str:
    """A column's name as it is typed on the command line."""
    return name if name.replace("_", "").replace("-", "").replace(".", "").isalnum() else f'"{name}"'
