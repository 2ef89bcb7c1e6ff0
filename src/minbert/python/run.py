"""The directory of a run -> its scores, its model, and how both look in a notebook."""

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from minbert.config.task import Task, task_from
from minbert.data.dataset import Dataset, read_dataset
from minbert.data.rejects import count_reasons, describe_reasons
from minbert.data.source import DataSource
from minbert.errors import UserError
from minbert.inference.predictor import Prediction, Predictor, load_predictor
from minbert.python.run_data import RunData
from minbert.python.run_table import run_table
from minbert.python.user_warning import warn_user
from minbert.python.wording import python_words
from minbert.runs.directory import dev_rows, read_run
from minbert.runs.events import Scores
from minbert.runs.outcomes import TaskOutcome
from minbert.runs.scoring import Scoring


class Run:
    """A trained run: `run.predict("stars", ["A fine film."])`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with python_words():
            self.about = read_run(self.path)

    @property
    def state(self) -> str:
        """finished, interrupted, failed or running."""
        return str(self.about.get("state", ""))

    @property
    def scores(self) -> Scores:
        """Every metric of every task on its dev rows; empty if the run is not finished."""
        return dict(self.about.get("scores", {}))

    @property
    def overall(self) -> float | None:
        return self.about.get("overall")

    @property
    def outcomes(self) -> dict[str, TaskOutcome]:
        """Each task's main metric, its 95 % interval and its controls."""
        fields = TaskOutcome.__dataclass_fields__
        outcomes = {
            name: TaskOutcome(**{key: value for key, value in each.items() if key in fields})
            for name, each in self.about.get("outcomes", {}).items()
        }
        return {name: with_own_labels(each, self._task_settings(name)) for name, each in outcomes.items()}

    def _task_settings(self, name: str) -> Any:
        return self.about.get("recipe", {}).get("tasks", {}).get(name, {}).get("task")

    @cached_property
    def model(self) -> Predictor:
        """The trained model, as `minbert.load` gives it."""
        with python_words():
            return load_predictor(self.path)

    def predict(self, task: Any = None, texts: Any = None) -> list[Prediction]:
        """One prediction per text, or per (text, text) pair where the task compares two: run.predict(task, texts).

        task: its name; of a run with one task, it may be left out: run.predict(texts).
        texts: a list, an array or a Series; or a DataFrame or Dataset, of which the task's columns are read.
        """
        return self.model.predict(task, texts)

    def evaluate(self, data: Any = None) -> Scores:
        """Scores on the dev rows, or on other labeled rows.

        data: {task: rows}, or rows alone if the run has a single task; rows are what `minbert.train` takes. Rows
        without a text or a label are left out.
        """
        with tempfile.TemporaryDirectory(prefix="minbert-") as folder:
            stored = RunData(Path(folder))
            with python_words(stored.in_words):
                tasks, rows = self._labeled_rows(data, stored)
        scoring = Scoring(tasks, rows, lambda name, values: self.model.fill(name, rows[name].texts, values))
        for _ in scoring:
            pass
        return scoring.scores

    def _labeled_rows(self, data: Any, stored: RunData) -> tuple[dict[str, Task], dict[str, Dataset]]:
        if data is None:
            return self.model.tasks, {
                name: dev_rows(self.path, task, DataSource()) for name, task in self.model.tasks.items()
            }
        given = labeled_data_of(data, self.model.tasks)
        tasks = {name: self.model.task(name) for name in given}
        found = {}
        for name, task in tasks.items():
            path = stored.path_of(given[name], name, "test", name, (*task.text, task.label))
            found[name] = read_dataset(path, replace(task, missing="skip"))
            if found[name].skipped:
                count, reasons = len(found[name].skipped), describe_reasons(count_reasons(found[name].skipped))
                warn_user(f"{name}: {count:,} row{'s' * (count > 1)} skipped: {reasons}")
        return tasks, found

    def __repr__(self) -> str:
        if not self.outcomes:
            return f"Run({str(self.path)!r}, {self.state})"
        scores = ", ".join(f"{name} {each.metric} {each.value:.3f}" for name, each in self.outcomes.items())
        return f"Run({str(self.path)!r}, {scores})"

    def _repr_html_(self) -> str:
        """For notebooks: each task next to its controls."""
        return run_table(self.path, self.state, self.outcomes)


def with_own_labels(outcome: TaskOutcome, task: Any) -> TaskOutcome:
    """The outcome with labels of the type that they have in the data, as predictions have them; JSON has only texts."""
    if not isinstance(outcome.constant_answer, dict) or not isinstance(task, Mapping):
        return outcome
    made = task_from("", Path(), task, "the run")
    own = dict(zip(made.label_texts, made.label_names or made.labels, strict=True))
    answer = {own.get(text, text): share for text, share in outcome.constant_answer.items()}
    return replace(outcome, constant_answer=answer)


def labeled_data_of(data: Any, tasks: Collection[str]) -> dict[str, Any]:
    """The rows of each task; rows without a name belong to the only task."""
    if isinstance(data, Mapping) and set(data) & set(tasks):
        return dict(data)
    if len(tasks) == 1 and not isinstance(data, Mapping):
        return {next(iter(tasks)): data}
    raise UserError(
        f"evaluate: give the rows of each task as {{task: rows}}; this run has the tasks {', '.join(tasks)}.",
        f'For example: run.evaluate({{"{next(iter(tasks))}": rows}})',
    )
