"""Rows of the reports -> trained models under equal budgets, and their figures beside the published ones."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minbert.comparison.compare import Budget, Comparison, Told
from minbert.comparison.conclude import planned, read_plan
from minbert.comparison.engines import Engine
from minbert.comparison.published import METRICS, Row, overall_of
from minbert.comparison.results import TrialResult
from minbert.comparison.transfer import Variant
from minbert.config.loading import read_recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.runs.directory import read_run

MISSING = "not trained yet"


@dataclass(frozen=True)
class Settings:
    """What is the same for all rows."""

    out: Path
    # a backbone in place of the recipes' own; empty: their own
    backbone: str = "minilm"
    # seconds of training a row; None: the recipes as they are
    budget: float | None = None
    seed: int = 0
    source: DataSource = DEFAULT_SOURCE


@dataclass(frozen=True)
class Cost:
    """Of one model, or of all models of a row together."""

    seconds: float
    steps: int
    tokens: int
    # parameters
    total: int
    trainable: int
    # of each epoch of the recipe
    share: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.seconds + other.seconds,
            self.steps + other.steps,
            self.tokens + other.tokens,
            self.total + other.total,
            self.trainable + other.trainable,
            min(self.share, other.share),
        )


@dataclass(frozen=True)
class Outcome:
    """What has come of a row so far."""

    row: Row
    # the main metric of each task that is measured, and of those the further metrics that the report has too
    figures: dict[str, float] = field(default_factory=dict)
    others: dict[str, float] = field(default_factory=dict)
    cost: Cost | None = None
    # why there is nothing, or not all
    failed: str = ""
    # what a reader has to know besides
    note: str = ""

    @property
    def overall(self) -> float | None:
        return overall_of(self.figures)


class Reproduction:
    """The trainings of some rows, as cells in a folder: what is done is never done again."""

    def __init__(self, rows: Sequence[Row], settings: Settings) -> None:
        self.rows = {row.id: row for row in rows}
        self.settings = settings
        # row: its trainings; two rows may have the same
        self.jobs: dict[str, list[Variant]] = {}
        # row: the row whose trainings are its own
        self.same: dict[str, str] = {}
        first: dict[tuple[str, ...], str] = {}
        for row in rows:
            jobs = make_jobs(row, settings)
            # rows that differ only in the backbone are the same on a given one
            key = (*(replace(job.recipe, about="").as_toml() for job in jobs),)
            if jobs and key in first:
                self.same[row.id] = first[key]
                jobs = self.jobs[first[key]]
            elif jobs:
                first[key] = row.id
            self.jobs[row.id] = jobs
        variants = {job.label: job for jobs in self.jobs.values() for job in jobs}
        self.comparison = Comparison(
            settings.out, [*variants.values()], [settings.seed], Budget(settings.budget), source=settings.source
        )

    def train(self, engine: Engine) -> Generator[Told, None, None]:
        return self.comparison.train(engine, next(iter(self.comparison.variants)))

    def results(self) -> dict[str, TrialResult]:
        """What has come of the trainings so far, by their names."""
        out = self.settings.out
        found = {each.label: each for each in planned(out, read_plan(out))} if (out / "compare.json").is_file() else {}
        nothing = {
            name: TrialResult("", name, self.settings.seed, "missing", MISSING) for name in self.comparison.variants
        }
        return nothing | {name: each for name, each in found.items() if name in nothing}

    def outcomes(self) -> list[Outcome]:
        """What has come of all rows, in their order."""
        found: dict[str, Outcome] = {}
        results = self.results()
        # composed rows come last: they read the others
        for row in sorted(self.rows.values(), key=lambda row: bool(row.compose)):
            found[row.id] = self.composed(row, found) if row.compose else self.trained(row, results)
        return [found[name] for name in self.rows]

    def trained(self, row: Row, results: Mapping[str, TrialResult]) -> Outcome:
        """Of a row with a model a task, what there is, though one of them failed."""
        scores: dict[str, Mapping[str, float]] = {}
        costs, failed = [], ""
        for result in (results[job.label] for job in self.jobs[row.id]):
            if result.state == "finished":
                scores |= result.scores
                costs.append(self.cost(result))
            else:
                failed = failed or (MISSING if result.state == "missing" else f"failed: {result.reason}")
        figures = {task: scores[task][metric] for task, metric in METRICS.items() if task in scores}
        every = {f"{task}.{metric}": value for task, found in scores.items() for metric, value in found.items()}
        others = {name: every[name] for name in row.others if name in every}
        same = f"on this backbone the same as {self.same[row.id]}" if row.id in self.same else ""
        return Outcome(row, figures, others, sum(costs[1:], start=costs[0]) if costs else None, failed, same)

    def composed(self, row: Row, found: dict[str, Outcome]) -> Outcome:
        figures = {task: found[name].figures[task] for task, name in row.compose.items() if task in found[name].figures}
        missing = [name for task, name in row.compose.items() if task not in figures]
        note = f"models of {', '.join(dict.fromkeys(row.compose.values()))}"
        return Outcome(row, figures, failed=f"needs {missing[0]}" if missing else "", note=note)

    def cost(self, result: TrialResult) -> Cost:
        assert result.cost is not None
        spent, share = result.cost, read_run(self.settings.out / result.run)["recipe"]["epoch_fraction"]
        return Cost(spent.seconds, int(spent.steps), int(spent.tokens), spent.total, spent.trainable, share)


def make_jobs(row: Row, settings: Settings) -> list[Variant]:
    """A row's models share its budget."""
    jobs = []
    for task, recipe in row.models.items():
        overrides = [f"backbone={settings.backbone}"] if settings.backbone else []
        overrides += [f'tasks=["{task}"]'] if row.one_model_per_task else []
        name = f"{row.id}-{task}" if task else row.id
        jobs.append(Variant(name, read_recipe(recipe, overrides), 1 / len(row.models)))
    return jobs


# ---- Markdown -----------------------------------------------------------------------------------------

COLUMNS = [
    "row", "system", "split", "sst", "quora", "sts", "overall", "printed", "sst here", "quora here", "sts here",
    "overall here", "seconds", "steps", "tokens", "parameters", "trainable", "of an epoch", "note",
]  # fmt: skip


def markdown(outcomes: Sequence[Outcome], title: str, about: str) -> str:
    """One table: published figures, ours on dev rows, and what they cost."""
    lines = [f"# {title}", "", about, ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * 3}{'---:|' * (len(COLUMNS) - 4)}---|"]
    lines += [f"| {' | '.join(trials(outcome))} |" for outcome in outcomes]
    besides = [outcome for outcome in outcomes if outcome.row.others]
    if besides:
        lines += ["", "| row | metric | published | here |", "|---|---|---:|---:|"]
        lines += [
            f"| {outcome.row.id} | {name} | {figure(value)} | {figure(outcome.others.get(name))} |"
            for outcome in besides
            for name, value in outcome.row.others.items()
        ]
    return "\n".join(lines) + "\n"


def trials(outcome: Outcome) -> list[str]:
    row, cost = outcome.row, outcome.cost
    published = [figure(row.figures.get(task)) for task in METRICS]
    ours = [figure(outcome.figures.get(task)) for task in METRICS]
    printed = f"{figure(row.printed)} ({row.printed_as})" if row.printed_as else ""
    costs = [""] * 6
    if cost is not None:
        costs = [
            f"{cost.seconds:,.0f}",
            f"{cost.steps:,}",
            f"{cost.tokens:,}",
            f"{cost.total:,}",
            f"{cost.trainable:,}",
        ]
        costs.append(f"{cost.share:.2%}")
    took = f"published: {row.seconds:,.0f} s on a T4" if row.seconds else ""
    failed = f"**{outcome.failed}**" if outcome.failed else ""
    note = "; ".join(filter(None, [failed, outcome.note, row.note, took]))
    start = [row.id, row.title, row.split, *published, figure(overall_of(row.figures)), printed]
    # a bar or a line break in a message would end the cell
    return [*start, *ours, figure(outcome.overall), *costs, note.replace("|", "\\|").replace("\n", " ")]


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
