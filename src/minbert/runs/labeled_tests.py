"""tasks -> the labeled rows of their test files, where they have any."""

from collections.abc import Mapping

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.source import DataSource


def read_test_rows(tasks: Mapping[str, Task], source: DataSource) -> dict[str, Dataset]:
    """A file that is missing or has no labels is left out; bad rows are an error, as in every other file."""
    found = {name: source.read_test(task) for name, task in tasks.items()}
    return {name: rows for name, rows in found.items() if rows is not None}
