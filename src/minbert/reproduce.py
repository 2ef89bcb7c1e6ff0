"""Rows of the reports -> trained models under equal budgets, and their figures beside the published ones."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minbert.budget import share_for, within
from minbert.cookbook import read_recipe
from minbert.durable import write_json
from minbert.errors import UserError
from minbert.events import Event, Finished
from minbert.hub import find_backbone
from minbert.log import steps_and_tokens
from minbert.prepare import count_parameters
from minbert.pretrained import read_config
from minbert.published import METRICS, Row, overall_of
from minbert.recipe import Recipe
from minbert.run import start_run
from minbert.rundir import read_run
from minbert.trainer import Step


@dataclass(frozen=True)
class Settings:
    """What is the same for all rows."""

    out: Path
    # a backbone in place of the recipes' own; empty: their own
    backbone: str = "minilm"
    # seconds of training a row; None: the recipes as they are
    budget: float | None = None
    seed: int = 0
    data_root: Path | None = None


@dataclass(frozen=True)
class Job:
    """One model to train: a row's, or a row's for one of its tasks."""

    name: str
    recipe: Recipe
    budget: float | None


@dataclass(frozen=True)
class Cost:
    """Of one model, or of all models of a row together."""

    seconds: float
    steps: int
    tokens: int
    # parameters
    total: int
    free: int
    # of each epoch of the recipe
    share: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.seconds + other.seconds,
            self.steps + other.steps,
            self.tokens + other.tokens,
            self.total + other.total,
            self.free + other.free,
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
    """The trainings of some rows, in a folder: a run each, and ledger.json with what the runs do not say."""

    def __init__(self, rows: Sequence[Row], settings: Settings) -> None:
        self.rows = {row.id: row for row in rows}
        self.settings = settings
        # row: its trainings; two rows may have the same
        self.jobs: dict[str, list[Job]] = {}
        # row: the row whose trainings are its own
        self.same: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.ledger: dict[str, dict[str, Any]] = read_ledger(settings.out)
        first: dict[tuple[str, ...], Row] = {}
        for row in rows:
            jobs = make_jobs(row, settings)
            # rows that differ only in the backbone are the same on a given one
            key = (*(fingerprint(replace(job.recipe, about="")) for job in jobs),)
            if jobs and key in first:
                self.same[row.id] = first[key].id
                jobs = self.jobs[first[key].id]
            elif jobs:
                first[key] = row
            self.jobs[row.id] = jobs

    def asked(self, job: Job) -> str:
        """All that a training depends on, but for what the machine can do in the time."""
        root = self.settings.data_root
        return hashlib.sha256(
            repr((fingerprint(job.recipe), job.budget, root and str(root.resolve()))).encode()
        ).hexdigest()

    def state(self, job: Job) -> str:
        """finished, other (finished, but it was asked for something else), or unfinished."""
        out, entry = self.settings.out / job.name, self.ledger.get(job.name, {})
        run = read_run(out) if (out / "run.json").is_file() else {}
        if run.get("state") != "finished":
            return "unfinished"
        if entry.get("asked") != self.asked(job):
            return "other"
        # killed between the end of the run and the line in the ledger, or trained anew by another command
        return "finished" if entry.get("trained") == run["sha256"]["recipe"] else "unfinished"

    def check(self, force: bool) -> None:
        """A finished model is not replaced unless that is said."""
        for job in {job.name: job for jobs in self.jobs.values() for job in jobs}.values():
            if self.state(job) == "other" and not force:
                raise UserError(
                    f"{self.settings.out / job.name}: was trained with another budget, backbone, seed, recipe or data.",
                    "Name another --out, or train it again with --force.",
                )

    def cut(self, job: Job) -> Recipe:
        """The recipe as it is trained; the share is measured once, so that a training can be recognised."""
        if job.budget is None:
            return job.recipe
        entry = self.ledger.get(job.name, {})
        if entry.get("asked") != self.asked(job):
            entry = {"share": share_for(job.recipe, job.budget, self.settings.data_root)}
            self.note(job, entry)
        return within(job.recipe, entry["share"])

    def note(self, job: Job, entry: dict[str, Any]) -> None:
        self.ledger[job.name] = {"asked": self.asked(job), **entry}
        self.settings.out.mkdir(parents=True, exist_ok=True)
        write_json(self.settings.out / "ledger.json", self.ledger)

    def train(self, job: Job) -> Iterator[Event]:
        """Train one model; an unfinished earlier try is replaced."""
        recipe, seconds = self.cut(job), 0.0
        events = start_run(recipe, self.settings.out / job.name, data_root=self.settings.data_root, force=True)
        last = time.perf_counter()
        for event in events:
            if isinstance(event, Step):
                seconds += time.perf_counter() - last
            if isinstance(event, Finished):
                counts = count_parameters(recipe, read_config(find_backbone(recipe.backbone))[0])
                size = {"total": counts["total"], "free": counts["free"]}
                trained = read_run(self.settings.out / job.name)["sha256"]["recipe"]
                self.note(job, {"share": recipe.share, "trained": trained, "seconds": round(seconds, 1), **size})
            yield event
            last = time.perf_counter()

    def outcomes(self) -> list[Outcome]:
        """What has come of all rows, in their order."""
        found: dict[str, Outcome] = {}
        # composed rows come last: they read the others
        for row in sorted(self.rows.values(), key=lambda row: bool(row.compose)):
            found[row.id] = self.composed(row, found) if row.compose else self.trained(row)
        return [found[name] for name in self.rows]

    def trained(self, row: Row) -> Outcome:
        """Of a row with a model a task, what there is, though one of them failed."""
        scores: dict[str, dict[str, float]] = {}
        costs, failed = [], ""
        for job in self.jobs[row.id]:
            if self.state(job) == "finished":
                scores |= read_run(self.settings.out / job.name)["scores"]
                costs.append(self.cost(job))
            else:
                failed = failed or self.failed.get(job.name, "not trained yet")
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

    def cost(self, job: Job) -> Cost:
        entry, (steps, tokens) = self.ledger[job.name], steps_and_tokens(self.settings.out / job.name)
        return Cost(entry["seconds"], steps, tokens, entry["total"], entry["free"], entry["share"])


def make_jobs(row: Row, settings: Settings) -> list[Job]:
    """A row's models share its budget."""
    jobs = []
    for task, recipe in row.models.items():
        overrides = [f"seed={settings.seed}"]
        overrides += [f"backbone={settings.backbone}"] if settings.backbone else []
        overrides += [f'tasks=["{task}"]'] if row.one_model_per_task else []
        budget = None if settings.budget is None else settings.budget / len(row.models)
        jobs.append(Job(f"{row.id}-{task}" if task else row.id, read_recipe(recipe, overrides), budget))
    return jobs


def fingerprint(recipe: Recipe) -> str:
    return hashlib.sha256(recipe.as_toml().encode()).hexdigest()


def read_ledger(out: Path) -> dict[str, dict[str, Any]]:
    path = out / "ledger.json"
    try:
        ledger: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as wrong:
        raise UserError(f"{path}: not JSON: {wrong}", "Name another --out.") from None
    return ledger


# ---- Markdown -----------------------------------------------------------------------------------------

COLUMNS = [
    "row", "system", "split", "sst", "quora", "sts", "overall", "printed", "sst here", "quora here", "sts here",
    "overall here", "seconds", "steps", "tokens", "parameters", "free", "of an epoch", "note",
]  # fmt: skip


def markdown(outcomes: Sequence[Outcome], title: str, about: str) -> str:
    """One table: published figures, ours on dev rows, and what they cost."""
    lines = [f"# {title}", "", about, ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * 3}{'---:|' * (len(COLUMNS) - 4)}---|"]
    lines += [f"| {' | '.join(cells(outcome))} |" for outcome in outcomes]
    besides = [outcome for outcome in outcomes if outcome.row.others]
    if besides:
        lines += ["", "| row | metric | published | here |", "|---|---|---:|---:|"]
        lines += [
            f"| {outcome.row.id} | {name} | {figure(value)} | {figure(outcome.others.get(name))} |"
            for outcome in besides
            for name, value in outcome.row.others.items()
        ]
    return "\n".join(lines) + "\n"


def cells(outcome: Outcome) -> list[str]:
    row, cost = outcome.row, outcome.cost
    published = [figure(row.figures.get(task)) for task in METRICS]
    ours = [figure(outcome.figures.get(task)) for task in METRICS]
    printed = f"{figure(row.printed)} ({row.printed_as})" if row.printed_as else ""
    costs = [""] * 6
    if cost is not None:
        costs = [f"{cost.seconds:,.0f}", f"{cost.steps:,}", f"{cost.tokens:,}", f"{cost.total:,}", f"{cost.free:,}"]
        costs.append(f"{cost.share:.2%}")
    took = f"published: {row.seconds:,.0f} s on a T4" if row.seconds else ""
    failed = f"**{outcome.failed}**" if outcome.failed else ""
    note = "; ".join(filter(None, [failed, outcome.note, row.note, took]))
    start = [row.id, row.title, row.split, *published, figure(overall_of(row.figures)), printed]
    # a bar or a line break in a message would end the cell
    return [*start, *ours, figure(outcome.overall), *costs, note.replace("|", "\\|").replace("\n", " ")]


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
