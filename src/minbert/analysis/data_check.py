"""Recipe -> a report on its data before training: sizes, labels, lengths, copies, leaks, steps, and what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minbert.config.recipe import Recipe
from minbert.data.leaks import SplitLeaks, TaskLeak
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.runs.data_findings import Finding, examine_data
from minbert.runs.split_report import SplitReport
from minbert.training.planned_steps import PlannedTask, planned_tasks
from minbert.training.prepare import Prepared, Split, prepare


@dataclass(frozen=True)
class DataReport:
    splits: list[SplitReport]
    leaks: list[TaskLeak]
    # dev rows that occur as whole rows in the training rows of any task, and by task their lines in the dev file
    leaked_rows: int
    leaked_lines: dict[str, list[int]]
    # the same of test rows that occur in training or dev rows
    test_leaks: list[dict[str, Any]]
    leaked_test_rows: int
    leaked_test_lines: dict[str, list[int]]
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
    leaks, test_leaks = found.leaks, found.test_leaks
    return DataReport(
        found.splits,
        list(leaks.pairs),
        sum(leaks.counts.values()),
        leaked_lines(leaks, ready.dev),
        [as_test_leak(pair) for pair in test_leaks.pairs],
        sum(test_leaks.counts.values()),
        leaked_lines(test_leaks, ready.test),
        ready.setup.steps,
        planned,
        [*found.findings, *(finding for each in planned for finding in plan_findings(each))],
        skipped_rows(ready),
    )


def skipped_rows(ready: Prepared) -> dict[str, list[str]]:
    splits = (ready.train, ready.dev, ready.test)
    found = {
        name: [row for each in splits if name in each for row in each[name].dataset.skipped] for name in ready.tasks
    }
    return {name: [str(row) for row in rows] for name, rows in found.items() if rows}


def leaked_lines(leaks: SplitLeaks, splits: Mapping[str, Split]) -> dict[str, list[int]]:
    """By task: the lines of the leaked rows in its file."""
    return {
        name: [splits[name].dataset.lines[row] for row in np.flatnonzero(leaks.rows[name])] for name in leaks.counts
    }


def as_test_leak(leak: TaskLeak) -> dict[str, Any]:
    """For JSON: a leak of test rows, with keys that say so."""
    return {
        "test": leak.dev,
        "train_or_dev": leak.train,
        "examples": leak.examples,
        "texts": leak.texts,
        "sample": leak.sample,
    }


def plan_findings(planned: PlannedTask) -> list[Finding]:
    """A task that is not trained on all of its rows."""
    if planned.passes >= 0.9:
        return []
    message = f"{planned.task}: training passes over only {planned.passes:.0%} of its {planned.rows:,} rows"
    return [Finding("warning", planned.task, message)]
