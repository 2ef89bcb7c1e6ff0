"""Rows of the reports -> trained models under equal budgets, and their scores beside the published ones."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minbert.comparison.budget import Budget
from minbert.comparison.compare import Comparison, ComparisonEvent
from minbert.comparison.conclude import planned_results, read_plan
from minbert.comparison.engines import Engine
from minbert.comparison.published import REPORT_METRICS, PublishedRow, published_overall
from minbert.comparison.results import TrialResult
from minbert.comparison.selection_rows import with_validation_rows
from minbert.comparison.transfer import LabeledRecipe
from minbert.config.loading import read_recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.runs.directory import read_run

NOT_TRAINED_YET = "not trained yet"


@dataclass(frozen=True)
class ReproductionSettings:
    """The settings that all rows have in common."""

    out: Path
    # the backbone that replaces those of the recipes; empty: the recipes' own
    backbone: str = "minilm"
    # seconds of training per row; None: whole recipes
    seconds: float | None = None
    seed: int = 0
    source: DataSource = DEFAULT_SOURCE
    # settings of all recipes, as --set has them
    overrides: Sequence[str] = ()


@dataclass(frozen=True)
class ReproductionCost:
    """The cost of one model, or of all models of a row together."""

    seconds: float
    steps: int
    tokens: int
    # parameters
    total: int
    trainable: int
    # of the recipe; the smallest of several models
    epoch_fraction: float

    def __add__(self, other: "ReproductionCost") -> "ReproductionCost":
        return ReproductionCost(
            self.seconds + other.seconds,
            self.steps + other.steps,
            self.tokens + other.tokens,
            self.total + other.total,
            self.trainable + other.trainable,
            min(self.epoch_fraction, other.epoch_fraction),
        )


@dataclass(frozen=True)
class RowOutcome:
    """The results of a row so far."""

    row: PublishedRow
    # the main metric of each scored task, and further metrics that the report has too
    figures: dict[str, float] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)
    cost: ReproductionCost | None = None
    # why there is no result, or only part of it
    failed: str = ""
    # what else a reader should know
    note: str = ""

    @property
    def overall(self) -> float | None:
        return published_overall(self.figures)


class Reproduction:
    """The rows as trials of a comparison: a finished trial is never trained again."""

    def __init__(self, rows: Sequence[PublishedRow], settings: ReproductionSettings, command: str = "") -> None:
        self.rows = {row.id: row for row in rows}
        self.settings = settings
        # row: its recipes; two rows may have the same
        self.jobs: dict[str, list[LabeledRecipe]] = {}
        # row: the earlier row with the same recipes
        self.same: dict[str, str] = {}
        first: dict[tuple[str, ...], str] = {}
        for row in rows:
            jobs = row_recipes(row, settings)
            # rows that differ only in the backbone are the same when --backbone replaces it
            key = (*(replace(job.recipe, about="", deviations={}).as_toml() for job in jobs),)
            if jobs and key in first:
                self.same[row.id] = first[key]
                jobs = self.jobs[first[key]]
            elif jobs:
                first[key] = row.id
            self.jobs[row.id] = jobs
        recipes = {job.label: job for jobs in self.jobs.values() for job in jobs}
        budget = Budget(settings.seconds)
        self.comparison = Comparison(
            settings.out, [*recipes.values()], [settings.seed], budget, source=settings.source, command=command
        )

    @property
    def by_dev_rows(self) -> bool:
        """Whether dev rows choose any of the models."""
        return not all(job.recipe.selection.validation_fraction for job in self.comparison.recipes.values())

    def train(self, engine: Engine) -> Generator[ComparisonEvent, None, None]:
        return self.comparison.train(engine, next(iter(self.comparison.recipes)))

    def results(self) -> dict[str, TrialResult]:
        """The results of the trials so far, by label."""
        out = self.settings.out
        seed, labels = self.settings.seed, self.comparison.recipes
        found = {name: TrialResult("", name, seed, "missing", NOT_TRAINED_YET) for name in labels}
        if (out / "compare.json").is_file():
            found |= {each.label: each for each in planned_results(out, read_plan(out)) if each.label in labels}
        return found

    def outcomes(self) -> list[RowOutcome]:
        """The outcome of every row, in order."""
        found: dict[str, RowOutcome] = {}
        results = self.results()
        # composed rows last: they use the others
        for row in sorted(self.rows.values(), key=lambda row: bool(row.compose)):
            found[row.id] = self.composed(row, found) if row.compose else self.trained(row, results)
        return [found[name] for name in self.rows]

    def trained(self, row: PublishedRow, results: Mapping[str, TrialResult]) -> RowOutcome:
        """The outcome of a row; with one model per task, of those that are finished."""
        scores: dict[str, Mapping[str, float]] = {}
        costs, failed = [], ""
        for result in (results[job.label] for job in self.jobs[row.id]):
            if result.state == "finished":
                scores |= result.scores
                costs.append(self.cost(result))
            else:
                failed = failed or (NOT_TRAINED_YET if result.state == "missing" else f"failed: {result.reason}")
        figures = {task: scores[task][metric] for task, metric in REPORT_METRICS.items() if task in scores}
        every = {f"{task}.{metric}": value for task, found in scores.items() for metric, value in found.items()}
        # tasks that the other reports do not have, by their main metric, which comes first
        further = [f"{task}.{next(iter(found))}" for task, found in scores.items() if task not in REPORT_METRICS]
        others = {name: every[name] for name in (*row.others, *further) if name in every}
        same = f"on this backbone the same as {self.same[row.id]}" if row.id in self.same else ""
        return RowOutcome(row, figures, others, sum(costs[1:], start=costs[0]) if costs else None, failed, same)

    def composed(self, row: PublishedRow, found: dict[str, RowOutcome]) -> RowOutcome:
        figures = {task: found[name].figures[task] for task, name in row.compose.items() if task in found[name].figures}
        missing = [name for task, name in row.compose.items() if task not in figures]
        note = f"models of {', '.join(dict.fromkeys(row.compose.values()))}"
        return RowOutcome(row, figures, failed=f"needs {missing[0]}" if missing else "", note=note)

    def cost(self, result: TrialResult) -> ReproductionCost:
        assert result.cost is not None
        spent, fraction = result.cost, read_run(self.settings.out / result.run)["recipe"]["epoch_fraction"]
        steps, tokens = int(spent.steps), int(spent.tokens)
        return ReproductionCost(spent.seconds, steps, tokens, spent.total, spent.trainable, fraction)


def row_recipes(row: PublishedRow, settings: ReproductionSettings) -> list[LabeledRecipe]:
    """The recipes of a row, which share its budget equally."""
    jobs = []
    for task, recipe in row.models.items():
        overrides = [f"backbone={settings.backbone}"] if settings.backbone else []
        overrides += [f'tasks=["{task}"]'] if row.one_model_per_task else []
        name = f"{row.id}-{task}" if task else row.id
        chosen = with_validation_rows(read_recipe(recipe, [*overrides, *settings.overrides]))
        jobs.append(LabeledRecipe(name, chosen, 1 / len(row.models)))
    return jobs


# ---- Markdown -----------------------------------------------------------------------------------------

REPRODUCTION_COLUMNS = [
    "row", "system", "split", "sst", "quora", "sts", "overall", "printed", "sst here", "quora here", "sts here",
    "overall here", "seconds", "steps", "tokens", "parameters", "trainable", "of an epoch", "note",
]  # fmt: skip


def reproduction_markdown(outcomes: Sequence[RowOutcome], title: str, about: str) -> str:
    """One table: published scores, scores measured here on dev rows, and costs."""
    lines = [f"# {title}", "", about, ""]
    lines += [
        f"| {' | '.join(REPRODUCTION_COLUMNS)} |",
        f"|{'---|' * 3}{'---:|' * (len(REPRODUCTION_COLUMNS) - 4)}---|",
    ]
    lines += [f"| {' | '.join(outcome_cells(outcome))} |" for outcome in outcomes]
    besides = [outcome for outcome in outcomes if outcome.row.others or outcome.others]
    if besides:
        lines += ["", "| row | metric | published | here |", "|---|---|---:|---:|"]
        lines += [
            f"| {outcome.row.id} | {name} | {format_figure(outcome.row.others.get(name))} "
            f"| {format_figure(outcome.others.get(name))} |"
            for outcome in besides
            for name in {**outcome.row.others, **outcome.others}
        ]
    return "\n".join(lines) + "\n"


def outcome_cells(outcome: RowOutcome) -> list[str]:
    row, cost = outcome.row, outcome.cost
    published = [format_figure(row.figures.get(task)) for task in REPORT_METRICS]
    ours = [format_figure(outcome.figures.get(task)) for task in REPORT_METRICS]
    printed = f"{format_figure(row.printed)} ({row.printed_as})" if row.printed_as else ""
    costs = [""] * 6
    if cost is not None:
        costs = [
            f"{cost.seconds:,.0f}",
            f"{cost.steps:,}",
            f"{cost.tokens:,}",
            f"{cost.total:,}",
            f"{cost.trainable:,}",
        ]
        costs.append(f"{cost.epoch_fraction:.2%}")
    took = f"published: {row.seconds:,.0f} s on a T4" if row.seconds else ""
    failed = f"**{outcome.failed}**" if outcome.failed else ""
    note = "; ".join(filter(None, [failed, outcome.note, row.note, took]))
    start = [row.id, row.title, row.split, *published, format_figure(published_overall(row.figures)), printed]
    # a bar or a line break in a message would break the table
    return [*start, *ours, format_figure(outcome.overall), *costs, note.replace("|", "\\|").replace("\n", " ")]


def format_figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
