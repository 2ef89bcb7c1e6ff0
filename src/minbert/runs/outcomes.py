"""(a run's predictions, its controls) -> how good each task is, with an interval, and what it does not beat."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from minbert.config.task import Task
from minbert.data.dataset import Dataset
from minbert.data.intervals import interval_of
from minbert.data.metrics import Array, best_value, direction
from minbert.files import sha256
from minbert.runs.constants import ConstantAnswer, constant_scores
from minbert.runs.controls import Controls
from minbert.runs.predictions import read_dev_predictions

# of a TaskOutcome: the score on the test file, its interval and its rows
TEST_FIELDS = ("test", "test_low", "test_high", "test_rows")
CONSTANT, PROBE = "the constant answer", "the untrained backbone"


@dataclass(frozen=True, repr=False)
class TaskOutcome:
    """The main metric of one task on its dev rows."""

    metric: str
    value: float
    # the 95 % confidence interval of the value, over rows
    low: float
    high: float
    rows: int
    # scores of the controls; None: not measured
    constant: float | None
    probe: float | None
    # of training steps
    seconds: float
    # on the test file, which is measured once, at the end; None: there is none
    test: float | None = None
    # what the constant answer is
    constant_answer: ConstantAnswer | None = None
    # the interval of the test score, and its rows
    test_low: float | None = None
    test_high: float | None = None
    test_rows: int | None = None
    # fraction of the tokens that the tokenizer does not know, or of rows that are mostly unknown; None: not measured
    unknown: float | None = None
    # the part of the planned steps that fitted into the time limit; None: there was none
    trained_part: float | None = None

    @property
    def controls(self) -> dict[str, float]:
        found = {CONSTANT: self.constant, PROBE: self.probe}
        return {name: score for name, score in found.items() if score is not None}

    @property
    def not_beaten(self) -> tuple[str, ...]:
        """The controls that are at least as good, in the three digits that are shown."""
        sign = direction(self.metric)
        shown = {name: sign * (round(other, 3) - round(self.value, 3)) for name, other in self.controls.items()}
        return tuple(name for name, above in shown.items() if above >= 0)

    @property
    def unclear(self) -> tuple[str, ...]:
        """The controls that are worse, but whose score is in the interval of this one."""
        inside = (name for name, other in self.controls.items() if self.low <= other <= self.high)
        return tuple(name for name in inside if name not in self.not_beaten)

    @property
    def is_worse(self) -> bool:
        """Whether it does not beat a control although it could: nothing is better than a score without any error."""
        return bool(self.not_beaten) and self.value != best_value(self.metric)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.as_record().items())
        return f"TaskOutcome({shown})"

    def as_record(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"not_beaten": self.not_beaten, "unclear": self.unclear}


def task_outcomes(
    out: Path,
    tasks: Mapping[str, Task],
    scores: Mapping[str, Mapping[str, float]],
    controls: Mapping[str, Controls],
    seconds: Mapping[str, float],
    test: Mapping[str, Mapping[str, Any]],
) -> dict[str, TaskOutcome]:
    """From the dev predictions that the run has written. `test`: by task, the fields of TEST_FIELDS."""
    outcomes = {}
    for name, found in scores.items():
        metric, known = tasks[name].metric, controls.get(name)
        predictions = read_dev_predictions(out, name)
        low, high = interval_of(predictions.task, predictions.values, predictions.labels)
        outcomes[name] = TaskOutcome(
            metric=metric,
            value=found[metric],
            low=low,
            high=high,
            rows=len(predictions.labels),
            constant=known.constant[metric] if known else None,
            probe=known.probe[metric] if known else None,
            seconds=round(seconds.get(name, 0.0), 1),
            constant_answer=known.answer if known else None,
            **test.get(name, {}),
        )
    return outcomes


def are_own_dev_rows(task: Task, rows: Dataset, about: Mapping[str, Any]) -> bool:
    """Whether a run was scored on these rows. `about`: its run.json; empty for a model without a run."""
    known = about.get("outcomes", {}).get(task.name, {})
    if len(rows) != known.get("rows"):
        return False
    return sha256(rows.path) == str(about["sha256"]["data"].get(f"{task.name} dev"))


def evaluated_outcome(
    task: Task, rows: Dataset, predictions: Array, value: float, about: Mapping[str, Any]
) -> TaskOutcome:
    """How good a finished run is on any rows, next to its controls as far as they are known for these rows.

    `about`: the run's run.json; empty for a model without a run. The constant answer is that of the training rows; the
    untrained backbone was only scored on the run's own dev rows.
    """
    assert rows.labels is not None
    known, own = about.get("outcomes", {}).get(task.name, {}), are_own_dev_rows(task, rows, about)
    answer = known.get("constant_answer")
    low, high = interval_of(task, predictions, rows.labels)
    return TaskOutcome(
        metric=task.metric,
        value=value,
        low=low,
        high=high,
        rows=len(rows),
        constant=None if answer is None else constant_scores(task, answer, rows.labels)[task.metric],
        probe=known.get("probe") if own else None,
        seconds=known.get("seconds", 0.0) if own else 0.0,
        constant_answer=answer,
        **({key: known.get(key) for key in TEST_FIELDS} if own else {}),
        unknown=known.get("unknown"),
        trained_part=known.get("trained_part"),
    )
