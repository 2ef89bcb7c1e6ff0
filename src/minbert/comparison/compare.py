"""Recipes x seeds -> trained cells under equal budgets; what is done is never done again."""

import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from minbert.comparison.budget import share_for, share_for_steps, within
from minbert.comparison.engines import Engine, Going
from minbert.comparison.results import WHOLE, TrialResult
from minbert.comparison.store import Store
from minbert.comparison.transfer import Variant
from minbert.comparison.trial import Trial, failure_reason, make_trial, read_result
from minbert.config.recipe import Recipe
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import read_config
from minbert.errors import UserError
from minbert.files import hold_lock, write_json
from minbert.training.prepare import outline

Out = TypeVar("Out")
# how much of each recipe fits into a budget: measured, so it cannot be found again, and part of what a cell is
SHARES = "shares.json"


@dataclass(frozen=True)
class Budget:
    """What every cell may cost: seconds of training, or steps; neither: whole recipes."""

    seconds: float | None = None
    steps: int | None = None

    def __str__(self) -> str:
        if self.steps is not None:
            return f"{self.steps:,} steps a training"
        if self.seconds is None:
            return WHOLE
        minutes = f"{self.seconds / 60:g} minutes" if self.seconds >= 120 else f"{self.seconds:g} seconds"
        return f"{minutes} of training each"

    def part(self, share: float) -> "Budget":
        """Of a variant that trains only some of the tasks."""
        return Budget(
            None if self.seconds is None else self.seconds * share,
            None if self.steps is None else max(1, round(self.steps * share)),
        )

    def share_of(self, recipe: Recipe, source: DataSource) -> float:
        """How much of each epoch of a recipe that is, here."""
        if self.steps is not None:
            return share_for_steps(recipe, self.steps, source)
        return recipe.epoch_fraction if self.seconds is None else share_for(recipe, self.seconds, source)


@dataclass(frozen=True)
class Sizing:
    """How long the steps of recipes take is being found out: so many of so many are known."""

    done: int
    total: int


@dataclass(frozen=True)
class Planned:
    """So many trainings are asked for, done or not."""

    trials: int


Told = Sizing | Planned | Going | TrialResult


class Comparison:
    """The folder of a comparison: cells, their results, and what was asked last."""

    def __init__(
        self,
        folder: Path,
        compared: Sequence[Variant],
        seeds: Sequence[int],
        budget: Budget,
        sharing: Sequence[Variant] = (),
        source: DataSource = DEFAULT_SOURCE,
    ) -> None:
        """`sharing`: what is trained besides, to see what sharing does."""
        variants = [*compared, *sharing]
        labels = [variant.label for variant in variants]
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise UserError(f"'{twice[0]}' is named twice.", "Name each recipe once.")
        self.folder = folder
        self.variants = {variant.label: variant for variant in variants}
        self.compared = [variant.label for variant in compared]
        self.seeds = tuple(seeds)
        self.budget = budget
        self.source = source

    @cached_property
    def store(self) -> Store:
        return Store(self.folder / "results.sqlite")

    def train(self, engine: Engine, baseline: str) -> Generator[Told, None, None]:
        """Train what is missing. A cell that failed before is tried again: its reason may be gone."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with closing(hold_lock(self.folder)):
            shares, failed = yield from self.shares(engine)
            trials = self.trials(shares)
            self.write_plan(trials, baseline)
            # one that could not be cut is whole in the plan, and would pass for an earlier training without a budget
            known = self.known([trial for trial in trials if trial.label not in failed])
            yield Planned(len(unique(trials)))
            yield from known.values()
            waiting = [trial for trial in unique(trials) if trial.key not in known]
            lost = [engine.lost(trial, failed[trial.label]) for trial in waiting if trial.label in failed]
            # seeds outside, recipes inside: stopped early, every recipe has as many seeds
            with closing(engine.run([trial for trial in waiting if trial.label not in failed])) as going:
                for told in chain(lost, going):
                    if isinstance(told, TrialResult):
                        self.store.put(told)
                    yield told

    def check(self) -> None:
        """A mistake in any recipe, or a missing file, is found before anything is trained."""
        for variant in self.variants.values():
            recipe = variant.recipe
            outline(recipe, recipe.read_tasks(), read_config(find_backbone(recipe.backbone))[0])
            self.asked(variant)

    def trials(self, shares: Mapping[str, float]) -> list[Trial]:
        """Every variant with every seed, cut to the budget; whole where nobody knows how much of it fits."""
        cut = {label: variant.recipe for label, variant in self.variants.items()}
        if self.budget != Budget():
            cut |= {label: within(cut[label], share) for label, share in shares.items()}
        return [
            make_trial(label, replace(recipe, seed=seed), self.source)
            for seed in self.seeds
            for label, recipe in cut.items()
        ]

    def shares(self, engine: Engine) -> Generator[Sizing, None, tuple[dict[str, float], dict[str, str]]]:
        """How much of each epoch every variant may train, measured once; and why it could not be found out."""
        asked = {label: self.asked(variant) for label, variant in self.variants.items()}
        kept = self.read_shares()
        # recipes that come to the same training are timed once: two shares would make two trainings of them
        unknown = {
            asked[label]: (self.budget.part(variant.part), variant.recipe, self.source)
            for label, variant in self.variants.items()
            if asked[label] not in kept
        }
        failed: dict[str, str] = {}
        if unknown:
            yield Sizing(0, len(unknown))
        # steps need no model to be counted; times are measured as the cells will run
        measured = engine.call(Budget.share_of, unknown) if self.budget.seconds else here(Budget.share_of, unknown)
        for done, (key, share) in enumerate(measured, 1):
            if isinstance(share, BaseException):
                failed[key] = (
                    f"while its steps were {'timed' if self.budget.seconds else 'counted'}: {failure_reason(share)}"
                )
            else:
                kept[key] = share
                write_json(self.folder / SHARES, kept)
            yield Sizing(done, len(unknown))
        return (
            {label: kept[key] for label, key in asked.items() if key in kept},
            {label: failed[key] for label, key in asked.items() if key in failed},
        )

    def read_shares(self) -> dict[str, float]:
        """What was found before, also for other recipes and budgets."""
        path = self.folder / SHARES
        try:
            kept: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError:
            raise UserError(
                f"{path}: is not whole.", "Remove it: steps are timed again, and the cells trained anew."
            ) from None
        return kept

    def asked(self, variant: Variant) -> str:
        """What a share was found for: it is found once, so that a cell is known again."""
        recipe = make_trial("", replace(variant.recipe, seed=0), self.source).key
        return hashlib.sha256(repr((recipe, self.budget.part(variant.part))).encode()).hexdigest()

    def known(self, trials: Sequence[Trial]) -> dict[str, TrialResult]:
        """What is finished by the cells themselves, put into the table where a killed driver did not get there."""
        rows, found = self.store.results(), {}
        for trial in unique(trials):
            # a row without its run is of no use: answers are compared, not only scores
            done = read_result(trial.folder(self.folder))
            if done is not None:
                found[trial.key] = replace(done, label=trial.label)
                if rows.get(trial.key) != found[trial.key]:
                    self.store.put(found[trial.key])
        return found

    def write_plan(self, trials: Sequence[Trial], baseline: str) -> None:
        """What was asked, for whoever makes the report again."""
        plan: dict[str, Any] = {
            "command": shlex.join(["minbert", *sys.argv[1:]]),
            "baseline": baseline,
            "budget": str(self.budget),
            "seeds": self.seeds,
            "compared": self.compared,
            "tasks": list(self.variants[baseline].recipe.tasks),
            "trials": [
                {
                    "key": trial.key,
                    "label": trial.label,
                    "seed": trial.recipe.seed,
                    **asdict(self.budget.part(self.variants[trial.label].part)),
                }
                for trial in trials
            ],
        }
        write_json(self.folder / "compare.json", plan)


def here(
    function: Callable[..., Out], work: Mapping[str, tuple[Any, ...]]
) -> Iterator[tuple[str, Out | BaseException]]:
    """In this process; whatever goes wrong is the one recipe's, as it is in a process of its own."""
    for name, arguments in work.items():
        try:
            yield name, function(*arguments)
        except Exception as wrong:
            yield name, wrong


def unique(trials: Sequence[Trial]) -> list[Trial]:
    """Two recipes may come to the same training, as on another backbone than theirs."""
    return list({trial.key: trial for trial in reversed(trials)}.values())[::-1]
