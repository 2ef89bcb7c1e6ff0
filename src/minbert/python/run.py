"""The directory of a run -> its scores, its model, and how both look in a notebook."""

import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from minbert.data.source import DataSource
from minbert.inference.predictor import Prediction, Predictor, load_predictor
from minbert.python.run_data import RunData
from minbert.runs.directory import dev_rows, read_run
from minbert.runs.events import Scores
from minbert.runs.outcomes import TaskOutcome
from minbert.runs.scoring import Scoring

COLUMNS = ("task", "metric", "constant", "untrained", "this model", "95 % interval", "dev rows")


class Run:
    """A trained run: `run.predict("stars", ["A fine film."])`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
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
        return {
            name: TaskOutcome(**{key: value for key, value in each.items() if key in fields})
            for name, each in self.about.get("outcomes", {}).items()
        }

    @cached_property
    def model(self) -> Predictor:
        """The trained model, as `minbert.load` gives it."""
        return load_predictor(self.path)

    def predict(self, task: str, texts: Sequence[str] | Sequence[Sequence[str]]) -> list[Prediction]:
        """Predictions for texts, or for (text, text) pairs where the task compares two."""
        return self.model.predict(task, texts)

    def evaluate(self, data: Mapping[str, Any] | None = None) -> Scores:
        """Scores on the dev rows, or on other labeled data: {task: path, DataFrame or list of dicts}."""
        tasks = {name: self.model.task(name) for name in data} if data is not None else self.model.tasks
        source = DataSource()
        with tempfile.TemporaryDirectory(prefix="minbert-") as folder:
            stored = RunData(Path(folder))
            rows = {
                name: dev_rows(self.path, task, source)
                if data is None
                else source.read_file(stored.path_of(data[name], name, "test"), task)
                for name, task in tasks.items()
            }
        scoring = Scoring(tasks, rows, lambda name, values: self.model.fill(name, rows[name].texts, values))
        for _ in scoring:
            pass
        return scoring.scores

    def __repr__(self) -> str:
        if not self.outcomes:
            return f"Run({str(self.path)!r}, {self.state})"
        scores = ", ".join(f"{name} {each.metric} {each.value:.3f}" for name, each in self.outcomes.items())
        return f"Run({str(self.path)!r}, {scores})"

    def _repr_html_(self) -> str:
        """For notebooks: each task next to its controls."""
        rows = [html_cells(name, each) for name, each in self.outcomes.items()]
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
        caption = f"<p>Run <code>{escape(str(self.path))}</code>, {escape(self.state)}</p>"
        return f"{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else caption


def html_cells(name: str, outcome: TaskOutcome) -> list[str]:
    controls = ["" if score is None else f"{score:.3f}" for score in (outcome.constant, outcome.probe)]
    beaten = f" (does not beat {' and '.join(outcome.not_beaten)})" if outcome.not_beaten else ""
    interval = f"{outcome.low:.3f} to {outcome.high:.3f}"
    return [name, outcome.metric, *controls, f"{outcome.value:.3f}{beaten}", interval, f"{outcome.rows:,}"]
