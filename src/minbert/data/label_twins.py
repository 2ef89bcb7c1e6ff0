"""Two label columns that say the same, such as `label` with 0 and 1 and `label_text` with no and yes -> one task."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from minbert.config.task import label_key
from minbert.data.column_profile import FileProfile
from minbert.data.readers import read_columns
from minbert.data.rejects import is_missing

# fewer rows may agree by chance
FEWEST_ROWS = 20


@dataclass(frozen=True)
class LabelNames:
    """A column with one name for each number of another column."""

    column: str
    # number -> name
    names: dict[str, str]


def find_twins(found: FileProfile, labels: Sequence[str]) -> dict[str, LabelNames]:
    """Column of numbers -> the column that names them."""
    columns = {name: found.columns[name] for name in labels}
    seen: dict[tuple[str, str], dict[str, str]] = {
        (a, b): {}
        for a, b in permutations(labels, 2)
        if columns[a].is_number and not columns[a].fractions and not columns[b].is_number and not columns[b].overflow
        if columns[a].distinct == columns[b].distinct and columns[a].filled >= FEWEST_ROWS
    }
    for _, values in read_columns(found.path, list(labels), "") if seen else ():
        row = {} if isinstance(values, str) else dict(zip(labels, values, strict=False))
        for pair in list(seen):
            number, name = (row.get(column) for column in pair)
            if is_missing(number) or is_missing(name):
                continue
            if seen[pair].setdefault(label_key(number), str(name).strip()) != str(name).strip():
                del seen[pair]
    return {a: LabelNames(b, names) for (a, b), names in seen.items() if len(set(names.values())) == len(names) > 1}
