"""Recipe -> a report on its data before training: sizes, labels, lengths, copies, leaks, steps, and what is wrong."""

from dataclasses import dataclass

import numpy as np

from minbert.config.recipe import Recipe
from minbert.data.leaks import RowMask, TaskLeak
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.runs.data_findings import Finding, examine_data
from minbert.runs.split_report import SplitReport
from minbert.training.planned_steps import PlannedTask, planned_tasks
from minbert.training.prepare import Prepared, prepare


@dataclass(frozen=True)
class DataReport:
    splits: list[SplitReport]
    leaks: list[TaskLeak]
    # dev rows that occur as whole rows in the training rows of any task, and by task their lines in the dev file
    leaked_rows: int
    leaked_lines: dict[str, list[int]]
    steps: int
    planned: list[PlannedTask]
    # what is wrong first
    findings: list[Finding]
    # by task: the rows that are not used, with file, line and reason
    skipped: dict[str, list[str]]

    @property
    def wrong(self) -> bool:
        return any(finding.severity == "wrong" for finding in self.findings)


def check_recipe(recipe: Recipe, source: DataSource = DEFAULT_SOURCE) -> DataReport:
    """Do everything that a training run does before its first step, then examine the data."""
    ready = prepare(recipe, source)
    rows = {name: len(split.dataset) for name, split in ready.train.items()}
    planned = planned_tasks(ready.setup.plans, rows, ready.recipe.optimizer.gradient_accumulation_steps)
    found = examine_data(ready)
    lines = {name: leaked_lines(ready, name, found.leaks.rows[name]) for name in found.leaks.counts}
    return DataReport(
        found.splits,
        list(found.leaks.pairs),
        sum(found.leaks.counts.values()),
        lines,
        ready.setup.steps,
        planned,
        [*found.findings, *(finding for each in planned for finding in plan_findings(each))],
        skipped_rows(ready),
    )


def skipped_rows(ready: Prepared) -> dict[str, list[str]]:
    found = {name: [*split.dataset.skipped, *ready.dev[name].dataset.skipped] for name, split in ready.train.items()}
    return {name: [str(row) for row in rows] for name, rows in found.items() if rows}


def leaked_lines(ready: Prepared, name: str, leaked_N: RowMask) -> list[int]:
    dataset = ready.dev[name].dataset
    return [dataset.lines[row] for row in np.flatnonzero(leaked_N)]


def plan_findings(planned: PlannedTask) -> list[Finding]:
    """A task that is not trained on all of its rows."""
    if planned.passes >= 0.9:
        return []
    message = f"{planned.task}: training passes over only {planned.passes:.0%} of its {planned.rows:,} rows"
    return [Finding("warning", planned.task, message)]
