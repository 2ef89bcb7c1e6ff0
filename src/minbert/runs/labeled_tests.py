"""tasks -> the labeled rows of their test files, where they have any."""

from collections.abc import Mapping

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.rejects import BadRows
from minbert.data.source import DataSource
from minbert.errors import UserError


def read_test_rows(tasks: Mapping[str, Task], source: DataSource) -> dict[str, Dataset]:
    """A file that is missing or has no labels is left out; bad rows are an error, as in every other file."""
    found = {}
    for name, task in tasks.items():
        if task.files.test is not None:
            try:
                found[name] = source.read(task, "test")
            except BadRows:
                raise
            except UserError:
                continue
    return found
