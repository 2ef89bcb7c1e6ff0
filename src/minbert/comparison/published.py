"""published.toml -> the rows of the five reports' tables, with the published figures."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from minbert.config.overall_terms import OverallTerm, split_measure
from minbert.config.schema import fill_settings
from minbert.data.overall_score import weighted_overall
from minbert.errors import UserError, did_you_mean

PUBLISHED_FILE = Path(__file__).parent / "published.toml"
# the overall score of all five reports, as [overall] in their recipes
REPORT_OVERALL = {
    "sst.accuracy": OverallTerm(),
    "quora.accuracy": OverallTerm(),
    "sts.pearson": OverallTerm(transform="zero_to_one"),
}
# their tasks and metrics
REPORT_METRICS = dict(split_measure(measure) for measure in REPORT_OVERALL)


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A row of a table. The top of published.toml explains its settings."""

    id: str
    title: str
    recipe: str = ""
    one_model_per_task: bool = False
    recipes: dict[str, str] = field(default_factory=dict)
    compose: dict[str, str] = field(default_factory=dict)
    split: Literal["dev", "test", "unknown"] = "dev"
    sst: float | None = None
    quora: float | None = None
    sts: float | None = None
    printed: float | None = None
    printed_as: Literal["", "mean", "formula", "leaderboard"] = ""
    seconds: float | None = None
    others: dict[str, float] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.recipe, self.recipes, self.compose))) != 1:
            raise ValueError("needs one of 'recipe', 'recipes' and 'compose'")
        if (self.printed is None) != (not self.printed_as):
            raise ValueError("'printed' and 'printed_as' go together")

    @property
    def figures(self) -> dict[str, float]:
        """The report's scores of the three tasks."""
        found = {"sst": self.sst, "quora": self.quora, "sts": self.sts}
        return {task: figure for task, figure in found.items() if figure is not None}

    @property
    def models(self) -> dict[str, str]:
        """The recipe of each model that the row trains, by its task; "" for a model of all tasks."""
        if self.one_model_per_task:
            return dict.fromkeys(REPORT_METRICS, self.recipe)
        return self.recipes or ({"": self.recipe} if self.recipe else {})


@dataclass(frozen=True, kw_only=True)
class PublishedReport:
    """The rows of one report."""

    title: str
    rows: tuple[PublishedRow, ...]
    # what it tried or named without a row in a table
    extras: tuple[PublishedRow, ...] = ()


def read_published() -> dict[str, PublishedReport]:
    """The reports by their letters."""
    tables = tomllib.loads(PUBLISHED_FILE.read_text(encoding="utf-8"))
    return {
        letter: fill_settings(PublishedReport, table, PUBLISHED_FILE.name, f"report '{letter}'")
        for letter, table in tables.items()
    }


def published_overall(figures: Mapping[str, float]) -> float | None:
    """The reports' overall score, if all three figures are there."""
    if not REPORT_METRICS.keys() <= figures.keys():
        return None
    return weighted_overall({task: {metric: figures[task]} for task, metric in REPORT_METRICS.items()}, REPORT_OVERALL)


def choose_rows(letters: Iterable[str], ids: Iterable[str] = (), extras: bool = False) -> list[PublishedRow]:
    """The rows of these reports, with `extras` also what has no row in a table; or only those named.

    A row that is composed of others brings them along.
    """
    reports = [read_published()[letter] for letter in letters]
    tables = [row for report in reports for row in report.rows]
    rows = {row.id: row for row in (*tables, *(row for report in reports for row in report.extras))}
    wanted = set()
    for name in list(ids) or (rows if extras else [row.id for row in tables]):
        if name not in rows:
            raise UserError(f"There is no row '{name}' here. {did_you_mean(name, rows)}")
        wanted |= {name, *rows[name].compose.values()}
    return [row for row in rows.values() if row.id in wanted]
