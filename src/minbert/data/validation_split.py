"""The training rows of all tasks -> training rows, and validation rows, which choose the model that is kept.

Split like dev rows (dev_split.py): by label, copies of an example on one side, the same for every seed. How many are
held out depends on the data alone, so that recipes with other budgets or more evaluated rows train on the same rows.
"""

from collections.abc import Collection, Mapping

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.dev_split import hold_out, without_rows_of_others
from minbert.errors import UserError

# of a task: more would hardly choose better, and are missing in training
MOST_VALIDATION_ROWS = 2000


def split_off_validation(
    tasks: Mapping[str, Task], train: Mapping[str, Dataset], fraction: float, scored: Collection[str]
) -> tuple[dict[str, Dataset], dict[str, Dataset]]:
    """`scored`: the tasks that are measured; the others hold out nothing. No task trains on what another holds out."""
    left, validation = dict(train), dict[str, Dataset]()
    for name in scored:
        rows = len(train[name])
        left[name], validation[name] = hold_out(train[name], tasks[name], min(fraction, MOST_VALIDATION_ROWS / rows))
        if not len(validation[name]):
            raise UserError(
                f"{train[name].path}: too few different examples ({rows:,} rows) to hold out validation rows of task "
                f"'{name}'.",
                "Give it more rows, or let its dev rows choose: --set selection.validation_fraction=0",
            )
    return without_rows_of_others(left, validation, "a validation row of another task"), validation
